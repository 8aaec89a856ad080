#include "transport/ofi/endpoint.h"

#include <algorithm>
#include <cstring>

#include "transport/ofi/domain.h"
#include "transport/ofi/neighbours.h"

namespace plait::transport::ofi {
namespace {

constexpr size_t kMostBytes = 8192;  // of a message
constexpr const char* kLost = "some were lost on the way, or the provider connected anew in between";

// What is injected is the provider's own copy. Of processes of one host it may else read memory later, when
// this endpoint is closed, and its memory is somebody else's.
size_t slot_bytes_for(const Choice& choice) noexcept {
  return choice.network ? kMostBytes : std::min(kMostBytes, choice.info->tx_attr->inject_size);
}

// The one with the smaller nonce greets first, so that there are never two connections.
am::Manners manners_for(const Choice& choice) noexcept {
  return {.piece = slot_bytes_for(choice) - sizeof(am::Header) - sizeof am::kIntact,
          .both_greet = false,
          .says_goodbye = false,
          .out_of_turn = kLost};
}

}  // namespace

OfiEndpoint::OfiEndpoint(OfiDomain& domain, const am::TicketHead& mine, uint64_t cookie)
    : MessageEndpoint(domain, mine, cookie, manners_for(domain.device().choice)),
      slot_bytes_(slot_bytes_for(domain.device().choice)),
      memory_(map_pages(kSlots * slot_bytes_)) {
  for (size_t i = 0; memory_ && i < kSlots; ++i) {
    slots_[i].data = memory_.data() + i * slot_bytes_;
    slots_[i].step = i < kReceives ? Step::received : Step::sent;
    if (i >= kReceives) slots_[i].next = std::exchange(free_slot_, &slots_[i]);
  }
}

OfiEndpoint::~OfiEndpoint() {
  leave();
  hang_up();
}

OfiDomain& OfiEndpoint::ours() const noexcept { return *static_cast<OfiDomain*>(domain()); }

const Device& OfiEndpoint::device() const noexcept { return ours().device(); }

Status OfiEndpoint::start() {
  const Choice& choice = device().choice;
  const std::string who = "ofi: " + choice.provider() + ": ";
  if (!memory_) return Status(Code::memory, who + "no address space for an endpoint");
  if (choice.needs(FI_MR_LOCAL)) {
    auto memory = ours().device().enroll(memory_.data(), memory_.size(), 0);
    if (!memory.ok()) return memory.status();
    memory_mr_ = std::move(*memory);
  }
  if (const Status status = open_objects(); !status.ok())
    return Status(status.code(), who + "an endpoint does not open: " + std::string(status.text()));
  ours().watch(*this, true);
  for (size_t i = 0; i < kReceives; ++i) PLAIT_TRY(post_receive(slots_[i]));
  where_.mode = uint8_t(choice.mode);
  where_.protocol = ours().protocol();
  size_t bytes = where_.address.size();
  const int rc = fi_getname(&ep_->fid, where_.address.data(), &bytes);
  if (rc != 0 || bytes > where_.address.size())
    return Status(Code::unsupported, who + "its addresses have " + std::to_string(bytes) +
                                         " bytes, a ticket holds " + std::to_string(where_.address.size()) +
                                         ": " + reason(rc));
  where_.address_bytes = uint8_t(bytes);
  std::fill(where_.address.begin() + where_.address_bytes, where_.address.end(), std::byte{0});
  announce(bytes_of(where_));
  if (choice.network) return {};
  std::lock_guard lock(neighbours().mutex);
  neighbours().domains.insert(mine().domain);
  neighbours().endpoints.insert(nonce());
  return {};
}

Status OfiEndpoint::open_objects() {
  const Device& d = device();
  fi_info* info = d.choice.info.get();
  const auto opened = [](auto& owner, auto* object, int rc, const char* name) {
    if (rc == 0) owner.reset(object);
    return rc == 0 ? Status()
                   : Status(rc == -FI_ENOMEM ? Code::memory : Code::system,
                            std::string(name) + ": " + reason(rc));
  };
  fi_av_attr av_attr{};
  av_attr.type = info->domain_attr->av_type == FI_AV_UNSPEC ? FI_AV_MAP : info->domain_attr->av_type;
  av_attr.count = 2;
  fid_av* av = nullptr;
  int rc = fi_av_open(d.domain.get(), &av_attr, &av, nullptr);
  PLAIT_TRY(opened(av_, av, rc, "the table of addresses"));
  fi_cq_attr cq_attr{};
  cq_attr.size = 4 * kDepth;
  cq_attr.format = FI_CQ_FORMAT_DATA;
  cq_attr.wait_obj = d.has_fd ? FI_WAIT_FD : FI_WAIT_NONE;
  fid_cq* cq = nullptr;
  rc = fi_cq_open(d.domain.get(), &cq_attr, &cq, nullptr);
  PLAIT_TRY(opened(cq_, cq, rc, "the completion queue"));
  fid_ep* ep = nullptr;
  rc = fi_endpoint(d.domain.get(), info, &ep, nullptr);
  PLAIT_TRY(opened(ep_, ep, rc, "the endpoint"));
  inject_ = info->tx_attr->inject_size;
  rc = fi_ep_bind(ep, &cq->fid, FI_TRANSMIT | FI_RECV);
  if (rc == 0) rc = fi_ep_bind(ep, &av->fid, 0);
  if (rc == 0) rc = fi_enable(ep);
  return rc == 0 ? Status()
                 : Status(Code::system,
                          "its parts do not join (look at ulimit -n; over a small device ofi_rxm needs "
                          "FI_UNIVERSE_SIZE=16): " +
                              reason(rc));
}

Status OfiEndpoint::post_receive(Slot& slot) noexcept {
  slot.full = false;
  void* desc = memory_mr_ ? fi_mr_desc(memory_mr_.get()) : nullptr;
  const ssize_t rc =
      fi_recv(ep_.get(), slot.data, slot_bytes_, desc, FI_ADDR_UNSPEC, static_cast<Context*>(&slot));
  return rc == 0 ? Status() : Status(Code::system, "ofi: a receive is not taken: " + reason(rc));
}

Status OfiEndpoint::reach(const am::Ticket& peer) {
  const auto where = parse_where(peer.address);
  if (!where) return Status(Code::invalid, "ofi: a ticket that makes no sense");
  if (where->mode != where_.mode || where->protocol != where_.protocol)
    return Status(Code::invalid,
                  "ofi: the peer uses another provider, or uses it another way: give all ranks the same");
  std::unique_lock<std::recursive_mutex> lock;
  if (!device().choice.network) {
    lock = std::unique_lock(neighbours().mutex);
    if (neighbours().is_gone(peer.head))
      return Status(Code::peer, "ofi: the peer has closed the endpoint of this ticket");
  }
  if (fi_av_insert(av_.get(), where->address.data(), 1, &peer_, 0, nullptr) != 1)
    return Status(Code::invalid, "ofi: " + device().choice.provider() + " does not take the peer's address");
  their_where_ = *where;
  return {};
}

std::string OfiEndpoint::peer_name() const {
  char text[256] = "";
  size_t bytes = sizeof text - 1;
  if (their_where_.address_bytes != 0 && av_)
    fi_av_straddr(av_.get(), their_where_.address.data(), text, &bytes);
  return MessageEndpoint::peer_name() + " (" + device().choice.provider() + (*text != '\0' ? ", " : "") +
         text + ")";
}

void OfiEndpoint::break_off(Code code, const std::string& why) noexcept {
  fail(code, peer_name() + ": " + why);
}

bool OfiEndpoint::forked() const noexcept {
  return domain() != nullptr ? !domain()->is_this_process() : state() != State::closed;
}

void OfiEndpoint::let_go() noexcept {
  if (state() == State::closed) hang_up();
}

void OfiEndpoint::hang_up() noexcept {
  if (forked()) (void)ep_.release(), (void)cq_.release(), (void)av_.release(), (void)memory_mr_.release();
  if (domain() == nullptr || forked()) return;
  if (cq_) ours().watch(*this, false);
  std::unique_lock<std::recursive_mutex> lock;
  if (!device().choice.network) {
    lock = std::unique_lock(neighbours().mutex);
    neighbours().endpoints.erase(nonce());
  }
  // ofi_rxm over verbs gives a receive that it finds complete while it closes back to what it has just
  // closed.
  fi_cq_data_entry entry;
  const bool met = their_where_.address_bytes != 0;
  for (size_t i = 0; cq_ && met && i < 4 * kDepth && fi_cq_read(cq_.get(), &entry, 1) > 0; ++i) {
  }
  ep_.reset();
  cq_.reset();
  av_.reset();
}

OfiEndpoint::Rest OfiEndpoint::rest() const noexcept {
  if (cq_ && slots_[next_receive_].full) return Rest::now;
  return cq_ && pending() ? Rest::soon : Rest::sleep;
}

}  // namespace plait::transport::ofi
