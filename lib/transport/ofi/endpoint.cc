#include "transport/ofi/endpoint.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <typeinfo>
#include <unordered_set>

#include "base/log.h"
#include "transport/ofi/domain.h"

namespace plait::transport::ofi {
namespace {

constexpr size_t kReads = 16;  // completions taken at a time

// The endpoints of this process on providers for one host. libfabric's keep pointers to the memory of each
// other's endpoints of one process, also of those that are closed.
struct Neighbours {
  std::recursive_mutex mutex;
  std::unordered_set<uint64_t> domains, endpoints;  // nonces: of all that ever were; of those that are open
};
Neighbours& neighbours() {
  static Neighbours& all = *new Neighbours;
  return all;
}
// Under the lock.
bool is_gone(const Ticket& peer) {
  return neighbours().domains.contains(peer.domain) && !neighbours().endpoints.contains(peer.endpoint);
}

const char* advice(int error) noexcept {
  switch (error) {
    case FI_ECONNREFUSED:
    case FI_ECONNRESET:
    case FI_ECONNABORTED:
    case FI_ENOTCONN:
    case FI_ESHUTDOWN:
    case EPIPE:
    case FI_EIO:
      return "it exited, was killed or closed this endpoint, or took back the memory: look at what it said "
             "last";
    case FI_ETIMEDOUT:
    case FI_EHOSTUNREACH:
    case FI_ENETUNREACH:
    case FI_EHOSTDOWN:
      return "its host is down, the link is cut or a firewall is in between: try fi_pingpong between the two "
             "hosts";
    case FI_EACCES:
    case FI_EKEYREJECTED:
    case FI_ENOKEY:
    case FI_EFAULT:
      return "the peer took back the memory, or its rights do not allow this";
    case FI_ENOMEM:
    case FI_ENOBUFS:
      return "memory or the device's resources ran out: look at ulimit -l";
    case FI_ECANCELED:
      return "the connection ended before it was sent";
    default:
      return "FI_LOG_LEVEL=warn makes the provider say more";
  }
}

const char* doing(Step step) noexcept {
  switch (step) {
    case Step::sent:
      return "sending a message";
    case Step::received:
      return "receiving a message";
    case Step::moved:
      return "a put";
  }
  return "a transfer";
}

}  // namespace

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
  memory_ = map_pages(slots * slot_bytes);
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
  if (d.door) {
    ticket_.door = d.base_of(&d.door_word);
    ticket_.door_key = fi_mr_key(d.door.get());
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
                 : Status(Code::system, "its parts do not join (look at ulimit -n): " + reason(rc));
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
    if (is_gone(*ticket)) return Status(Code::peer, "ofi: the peer has closed the endpoint of this ticket");
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

size_t OfiEndpoint::post(std::span<const Transfer> transfers) noexcept {
  size_t taken = 0;
  for (const Transfer& t : transfers) {
    if (state_ != State::ready || !has_ops(1)) break;
    if (const char* why = refusal(t)) {
      fail(Code::invalid, std::string("a transfer was refused: ") + why);
      break;
    }
    if (t.verb == Verb::flush || (t.verb == Verb::get && t.remote.bytes == 0)) {
      done(t.when, t.cookie, Code::ok);
    } else if (!take(t)) {
      if (domain_ != nullptr) domain_->starved();
      break;
    }
    ++taken;
  }
  size_t budget = kPollBytes / 4;
  if (taken != 0 && state_ == State::ready) push(budget);
  return taken;
}

// Null when it keeps to the contract.
const char* OfiEndpoint::refusal(const Transfer& t) const noexcept {
  if (t.verb == Verb::flush) return nullptr;
  if (t.verb != Verb::put && t.verb != Verb::get) return "no such verb";
  if (t.verb == Verb::get && t.signal.add != 0) return "a get carries no signal";
  if (t.signal.counter >= (t.signal.add != 0 ? theirs_.counters : kCounters))
    return "the peer has no such counter";
  if (t.signal.add > domain_->capabilities().max_add) return "it adds more than max_add";
  if (t.remote.bytes == 0) return t.local.bytes == 0 ? nullptr : "the slices differ in length";
  return slice_refusal(t);
}

const char* OfiEndpoint::slice_refusal(const Transfer& t) const noexcept {
  const auto& [data, bytes, region] = t.local;
  if (bytes != t.remote.bytes) return "the slices differ in length";
  if (data == nullptr) return "no local memory";
  if (region != nullptr) {
    const auto at = reinterpret_cast<uintptr_t>(data) - reinterpret_cast<uintptr_t>(region->memory().base);
    if (!in_bounds(at, bytes, region->memory().bytes)) return "the local slice is out of bounds";
  }
  if (domain_->capabilities().local_needs_region && t.verb == Verb::put && bytes > kInline) {
    if (region == nullptr || typeid(*region) != typeid(OfiRegion) ||
        static_cast<const OfiRegion*>(region)->device() != &device())
      return "the local memory is not exposed by this domain, which moves from exposed memory only";
  }
  const RemoteRegion* remote = t.remote.region;
  if (remote == nullptr || typeid(*remote) != typeid(PeerRegion)) return "no remote region of libfabric's";
  if (static_cast<const PeerRegion*>(remote)->endpoint() != this)
    return "the remote region was imported by another endpoint";
  if (bytes > domain_->capabilities().max_transfer || !in_bounds(t.remote.offset, bytes, remote->bytes()))
    return "the remote slice is out of bounds";
  if (t.verb == Verb::put && !may_write(remote->access())) return "the peer's region may not be written";
  if (t.verb == Verb::get && !may_read(remote->access())) return "the peer's region may not be read";
  return nullptr;
}

bool OfiEndpoint::has_ops(size_t count) const noexcept {
  return used_ + dones_.size() + count <= domain_->capabilities().depth;
}

Op& OfiEndpoint::take_op(const Transfer& t) noexcept {
  Op& op = *free_op_;
  free_op_ = op.next;
  ++used_;
  op.used = true;
  op.verb = t.verb;
  op.when = t.when;
  op.signal = t.signal;
  op.cookie = t.cookie;
  op.key = t.remote.bytes == 0 ? nullptr : &static_cast<const PeerRegion*>(t.remote.region)->key();
  op.offset = t.remote.offset;
  op.local = t.local.data;
  op.bytes = t.remote.bytes;
  op.moved = 0;
  return op;
}

void OfiEndpoint::done(When when, uint64_t cookie, Code code) noexcept {
  if (when != When::never) dones_.push().done = Done{cookie, code};
}

void OfiEndpoint::finish(Op& op, Code code) noexcept {
  op.used = false;
  op.next = std::exchange(free_op_, &op);
  --used_;
  done(op.when, op.cookie, code);
}

bool OfiEndpoint::went(ssize_t rc, const char* doing) noexcept {
  if (rc == 0) return true;
  if (rc != -FI_EAGAIN) {
    fail(rc == -FI_ENOMEM ? Code::memory : Code::peer, std::string(doing) + " is refused by " +
                                                           device().choice.provider() + ": " + reason(rc) +
                                                           "; " + advice(int(-rc)));
  }
  return false;
}

bool OfiEndpoint::send(ByteView head, ByteView body) noexcept {
  const size_t bytes = head.size() + body.size();
  Slot* slot = free_slot_;
  if (slot == nullptr || !ep_) return false;
  std::unique_lock<std::recursive_mutex> lock;
  if (!device().choice.network) {
    lock = std::unique_lock(neighbours().mutex);
    if (is_gone(theirs_)) return fail(Code::peer, "it closed this endpoint"), false;
  }
  std::memcpy(slot->data, head.data(), head.size());
  if (!body.empty()) std::memcpy(slot->data + head.size(), body.data(), body.size());
  if (bytes <= inject_) return went(fi_inject(ep_.get(), slot->data, bytes, peer_), "a message");
  void* desc = memory_mr_ ? fi_mr_desc(memory_mr_.get()) : nullptr;
  if (!went(fi_send(ep_.get(), slot->data, bytes, desc, peer_, static_cast<Context*>(slot)), "a message"))
    return false;
  free_slot_ = slot->next;
  return true;
}

void OfiEndpoint::progress(size_t& budget) noexcept {
  if (!cq_) return;
  read();
  receive(budget);
  if (state_ == State::connecting) greet();
  push(budget);
}

void OfiEndpoint::read() noexcept {
  fi_cq_data_entry entries[kReads];
  const ssize_t n = fi_cq_read(cq_.get(), entries, kReads);
  if (n == -FI_EAGAIN || n == 0) {
    ++quiet;
  } else if (n < 0) {
    return read_error();
  }
  for (ssize_t i = 0; i < n && state_ != State::failed; ++i) {
    quiet = 0;
    const fi_cq_data_entry& e = entries[i];
    if ((e.flags & (FI_REMOTE_CQ_DATA | FI_RECV)) == FI_REMOTE_CQ_DATA) {
      signalled(e.data);
      continue;
    }
    auto* context = static_cast<Context*>(e.op_context);
    if (context == nullptr) continue;
    if (context->step == Step::received) {
      auto& slot = static_cast<Slot&>(*context);
      slot.full = true;
      slot.bytes = std::min(e.len, slot_bytes_);
    } else if (context->step == Step::sent) {
      auto& slot = static_cast<Slot&>(*context);
      slot.next = std::exchange(free_slot_, &slot);
    } else if (auto& op = static_cast<Op&>(*context); op.used) {
      written(op);
    }
  }
}

// In the order of the receives, which is that of the sends, whichever were complete first.
void OfiEndpoint::receive(size_t& budget) noexcept {
  while (cq_ && slots_[next_receive_].full && budget != 0) {
    Slot& slot = slots_[next_receive_];
    const ByteView message(slot.data, slot.bytes);
    budget -= std::min(budget, slot.bytes);
    if (const auto hello = parse_hello(message)) {
      if (state_ == State::opened || (state_ == State::connecting && hello->from == theirs_.endpoint))
        heard_hello_ = *hello;
    } else if (state_ == State::ready) {
      heard(message);
    }
    if (!cq_) return;
    next_receive_ = (next_receive_ + 1) % receives_;
    if (const Status status = post_receive(slot); !status.ok())
      return fail(Code::system, std::string(status.text()));
  }
}

void OfiEndpoint::read_error() noexcept {
  fi_cq_err_entry e{};
  char text[256] = "";
  e.err_data = nullptr;
  if (fi_cq_readerr(cq_.get(), &e, 0) < 0) return;
  const char* more = fi_cq_strerror(cq_.get(), e.prov_errno, e.err_data, text, sizeof text);
  const auto* context = static_cast<const Context*>(e.op_context);
  std::string what =
      (e.flags & FI_REMOTE_WRITE) != 0 || context == nullptr ? "its connection" : doing(context->step);
  what += " failed: " + reason(e.err);
  if (more != nullptr && *more != '\0' && reason(e.err) != more) what += " (" + std::string(more) + ")";
  fail(e.err == FI_ENOMEM ? Code::memory : Code::peer, what + "; " + advice(e.err));
  hang_up();
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
        (void)ops_mr_.release();
    return;
  }
  if (cq_) domain_->watch(*this, false);
  std::unique_lock<std::recursive_mutex> lock;
  if (!device().choice.network) {
    lock = std::unique_lock(neighbours().mutex);
    neighbours().endpoints.erase(ticket_.endpoint);
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
