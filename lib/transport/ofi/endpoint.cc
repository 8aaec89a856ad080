#include "transport/ofi/endpoint.h"

#include <algorithm>

#include "base/log.h"
#include "transport/ofi/domain.h"
#include "transport/ofi/neighbours.h"

namespace plait::transport::ofi {

OfiEndpoint::OfiEndpoint(OfiDomain& domain, uint16_t counters, uint64_t cookie, size_t slots,
                         size_t slot_bytes)
    : domain_(&domain),
      cookie_(cookie),
      counter_count_(counters),
      slot_bytes_(slot_bytes),
      receives_(slots / 2),
      slots_(std::make_unique<Slot[]>(slots)),
      counter_words_(std::make_unique<std::atomic<uint64_t>[]>(counters)),
      dones_(domain.dones()) {
  counters_ = counter_words_.get();
  memory_ = map_pages(slots * slot_bytes + kBells * sizeof(uint64_t));
  if (memory_) bells_ = reinterpret_cast<uint64_t*>(memory_.data() + slots * slot_bytes);
  for (size_t i = 0; memory_ && i < slots; ++i) {
    slots_[i].data = memory_.data() + i * slot_bytes;
    slots_[i].step = i < receives_ ? Step::received : Step::sent;
    if (i < receives_) continue;
    slots_[i].next = std::exchange(free_slot_, &slots_[i]);
  }
}

OfiEndpoint::~OfiEndpoint() {
  close();
  hang_up();
  if (domain_ != nullptr) domain_->forget(*this);
}

const Device& OfiEndpoint::device() const noexcept { return domain_->device(); }

Status OfiEndpoint::start() {
  const std::string who = "ofi: " + device().choice.provider() + ": ";
  ops_ = std::make_unique<Op[]>(domain_->capabilities().depth);
  if (!memory_) return Status(Code::memory, who + "no address space for an endpoint");
  for (size_t i = domain_->capabilities().depth; i-- > 0;) ops_[i].next = std::exchange(free_op_, &ops_[i]);
  if (device().choice.needs(FI_MR_LOCAL)) {
    auto memory = domain_->device().enroll(memory_.data(), memory_.size(), 0);
    auto ops = domain_->device().enroll(ops_.get(), domain_->capabilities().depth * sizeof(Op), 0);
    for (const auto* mr : {&memory, &ops}) PLAIT_TRY(mr->status());
    memory_mr_ = std::move(*memory);
    ops_mr_ = std::move(*ops);
  }
  if (const Status status = open_objects(); !status.ok())
    return Status(status.code(), who + "an endpoint does not open: " + std::string(status.text()));
  domain_->watch(*this, true);
  for (size_t i = 0; i < receives_; ++i) PLAIT_TRY(post_receive(slots_[i]));
  const Device& d = device();
  ticket_.mode = uint8_t(d.choice.mode);
  ticket_.counters = counter_count_;
  ticket_.protocol = domain_->self().protocol;
  ticket_.domain = d.nonce;
  ticket_.endpoint = random_word();
  ticket_.stamp = uint16_t(random_word());
  ticket_.token = random_token();
  if (d.choice.mode == Mode::direct) {
    void* bells = const_cast<uint64_t*>(bells_);
    auto mr = domain_->device().enroll(bells, kBells * sizeof(uint64_t), FI_REMOTE_WRITE);
    if (!mr.ok()) return mr.status();
    bells_mr_ = std::move(*mr);
    ticket_.bells = d.base_of(bells);
    ticket_.bells_key = fi_mr_key(bells_mr_.get());
  }
  size_t bytes = ticket_.address.size();
  const int rc = fi_getname(&ep_->fid, ticket_.address.data(), &bytes);
  if (rc != 0 || bytes > ticket_.address.size())
    return Status(Code::unsupported, who + "its addresses have " + std::to_string(bytes) +
                                         " bytes, a ticket holds " + std::to_string(ticket_.address.size()) +
                                         ": " + reason(rc));
  ticket_.address_bytes = uint8_t(bytes);
  ticket_.sum = sum_of(ticket_);
  if (d.choice.network) return {};
  std::lock_guard lock(neighbours().mutex);
  neighbours().domains.insert(ticket_.domain);
  neighbours().endpoints.insert(ticket_.endpoint);
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

Status OfiEndpoint::connect(ByteView peer_ticket) noexcept {
  if (state_ != State::opened) return Status(Code::state, "ofi: connect() is for endpoints just opened");
  auto ticket = parse_ticket(peer_ticket);
  if (!ticket.ok()) return ticket.status();
  if (ticket->mode != ticket_.mode || ticket->protocol != ticket_.protocol)
    return Status(Code::invalid,
                  "ofi: the peer uses another provider, or uses it another way: give all ranks the same");
  if (ticket->endpoint == ticket_.endpoint) return Status(Code::invalid, "ofi: this endpoint's own ticket");
  std::unique_lock<std::recursive_mutex> lock;
  if (!device().choice.network) {
    lock = std::unique_lock(neighbours().mutex);
    if (neighbours().is_gone(*ticket))
      return Status(Code::peer, "ofi: the peer has closed the endpoint of this ticket");
  }
  if (fi_av_insert(av_.get(), ticket->address.data(), 1, &peer_, 0, nullptr) != 1)
    return Status(Code::invalid, "ofi: " + device().choice.provider() + " does not take the peer's address");
  theirs_ = *ticket;
  state_ = State::connecting;
  greet();
  return {};
}

// The one with the smaller nonce speaks first, so that there are never two connections. Whoever shows my
// token has read my ticket.
void OfiEndpoint::greet() noexcept {
  if (state_ != State::connecting) return;
  const bool first = ticket_.endpoint < theirs_.endpoint;
  const bool known = heard_hello_ && heard_hello_->from == theirs_.endpoint &&
                     heard_hello_->to == ticket_.endpoint && same_token(heard_hello_->token, ticket_.token);
  if (!greeted_ && (first || known)) {
    Hello hello;
    hello.to = theirs_.endpoint;
    hello.from = ticket_.endpoint;
    hello.token = theirs_.token;
    greeted_ = send(bytes_of(hello), {});
  }
  if (greeted_ && known && state_ == State::connecting) state_ = State::ready;
}

Result<std::unique_ptr<RemoteRegion>> OfiEndpoint::import(ByteView key) {
  if (state_ == State::opened || state_ == State::closed)
    return Status(Code::state, "ofi: a key can be imported after connect(), and not after close()");
  const auto parsed = parse_key(key);
  if (!parsed.ok()) return parsed.status();
  if (parsed->owner != theirs_.domain) return Status(Code::auth, "ofi: the key is not of this peer's region");
  return std::unique_ptr<RemoteRegion>(std::make_unique<PeerRegion>(this, *parsed));
}

std::string OfiEndpoint::peer_name() const {
  if (theirs_.address_bytes == 0 || !av_) return "its peer";
  char text[256] = "";
  size_t bytes = sizeof text - 1;
  return "peer " + std::string(fi_av_straddr(av_.get(), theirs_.address.data(), text, &bytes));
}

void OfiEndpoint::fail(Code code, std::string text) noexcept {
  if (state_ == State::failed || state_ == State::closed) return;
  error_ = device().choice.provider() + ", " + peer_name() + ": " + text;
  log::info("{}: endpoint failed: {}", domain_->name(), error_);
  state_ = State::failed;
  for (size_t i = 0; i < domain_->capabilities().depth; ++i) {
    if (ops_[i].used) finish(ops_[i], code);
  }
  dones_.push().done = Done{cookie_, code};
  own_done_ = true;
}

void OfiEndpoint::hang_up() noexcept {
  if (domain_ == nullptr || !domain_->is_this_process()) {  // a forked child has no part in it
    (void)ep_.release(), (void)cq_.release(), (void)av_.release(), (void)memory_mr_.release(),
        (void)ops_mr_.release(), (void)bells_mr_.release();
    return;
  }
  if (cq_) domain_->watch(*this, false);
  std::unique_lock<std::recursive_mutex> lock;
  if (!device().choice.network) {
    lock = std::unique_lock(neighbours().mutex);
    neighbours().endpoints.erase(ticket_.endpoint);
  }
  // ofi_rxm over verbs gives a receive that it finds complete while it closes back to what it has just
  // closed.
  fi_cq_data_entry entry;
  const bool met = theirs_.address_bytes != 0;
  for (size_t i = 0; cq_ && met && i < 4 * kDepth && fi_cq_read(cq_.get(), &entry, 1) > 0; ++i) {
  }
  ep_.reset();
  cq_.reset();
  av_.reset();
}

void OfiEndpoint::close() noexcept {
  if (state_ == State::closed || domain_ == nullptr || !domain_->is_this_process()) return;
  state_ = State::closed;
  hang_up();
  for (size_t i = 0; ops_ && i < domain_->capabilities().depth; ++i) {
    if (ops_[i].used) finish(ops_[i], Code::aborted);
  }
}

OfiEndpoint::Rest OfiEndpoint::rest() const noexcept {
  if (!dones_.empty() || (cq_ && slots_[next_receive_].full)) return Rest::now;
  return cq_ && ((state_ == State::connecting && !greeted_) || pushing()) ? Rest::soon : Rest::sleep;
}

size_t OfiEndpoint::harvest(std::span<Done> done) noexcept {
  size_t count = 0;
  for (; count < done.size() && !dones_.empty(); dones_.pop()) done[count++] = dones_.front().done;
  return count;
}

// The own one is the last.
void OfiEndpoint::leave_dones(SlabQueue<DoneItem>& to) noexcept {
  while (dones_.size() > (own_done_ ? 1U : 0U)) {
    const Done done = dones_.front().done;
    dones_.pop();
    to.push().done = done;
  }
  dones_.clear();
}

void OfiEndpoint::orphan() noexcept {
  close();
  dones_.clear();
  domain_ = nullptr;
}

}  // namespace plait::transport::ofi
