#include "transport/verbs/domain.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/random.h>

#include <algorithm>
#include <cerrno>

#include "base/log.h"
#include "transport/verbs/explain.h"

namespace plait::transport::verbs {

namespace {

constexpr size_t kFirstEndpoints = 8;  // that the first queues are for
constexpr uint8_t kReads = 16;         // gets under way at a queue pair, at most
constexpr size_t kMaxTransfer = size_t{1} << 30;
constexpr uint64_t kSlotMask = kSlots - 1, kSlotBits = kIndexBits - kNumbersBits;

uint64_t random_word() noexcept {
  uint64_t word = 0;
  while (word == 0 && getrandom(&word, sizeof word, 0) < 0) {
  }
  return word;
}

Status check(const Options& o) {
  const char* why = o.depth < 1 || o.depth > 4096                 ? "depth must be 1 to 4096"
                    : o.signals < 1 || o.signals > 1023           ? "signals must be 1 to 1023"
                    : o.timeout > 31 || o.timeout == 0            ? "timeout must be 1 to 31"
                    : o.retries > 7 || o.rnr_retries > 7          ? "there are 7 retries at most"
                    : o.service_level > 15                        ? "service levels are 0 to 15"
                    : o.mtu != 0 && (o.mtu < 256 || o.mtu > 4096) ? "the MTU must be 256 to 4096"
                                                                  : nullptr;
  return why == nullptr ? Status() : Status(Code::invalid, std::string("verbs: ") + why);
}

Capabilities make_capabilities(const Options& options, const OpenPort& port) noexcept {
  Capabilities c;
  c.get = true;
  c.local_needs_region = true;
  c.holds_pages = !options.on_demand_paging;
  c.max_transfer = std::min<size_t>(port.attributes.max_msg_sz, kMaxTransfer);
  c.key_bytes = sizeof(Key);
  c.ticket_bytes = sizeof(Ticket);
  c.depth = options.depth;
  c.counters = kCounters;
  c.max_add = kMaxAdd;
  c.signals = options.signals;
  c.cost = {2e-6, 0.3e-6, port.port.bandwidth_Bps};
  return c;
}

bool named(const Options& o, const Port& port) noexcept {
  return (o.device.empty() || o.device == port.device) && (o.port == 0 || o.port == port.port);
}

}  // namespace

Result<std::unique_ptr<Domain>> make_domain(const Options& options) { return VerbsDomain::make(options); }

Work work_of(const Domain& domain) noexcept { return static_cast<const VerbsDomain&>(domain).work(); }

// The first port that the options allow and that can be used.
Result<std::unique_ptr<Domain>> VerbsDomain::make(const Options& options) {
  PLAIT_TRY(check(options));
  std::unique_ptr<VerbsDomain> made;
  Status status;
  std::string reasons;
  const auto note = [&](const std::string& what, std::string_view why) {
    reasons += (reasons.empty() ? "" : "; ") + what + ": " + std::string(why);
  };
  const std::string none = for_each_device([&](ibv_device& candidate) {
    const std::string name = ibv_get_device_name(&candidate);
    if (!options.device.empty() && options.device != name) return false;
    auto device = Device::open(candidate);
    if (!device.ok()) return note(name, device.status().text()), false;
    for (unsigned i = 1; i <= (*device)->attributes().orig_attr.phys_port_cnt && made == nullptr; ++i) {
      const OpenPort port = look_at((*device)->context(), uint8_t(i), options.gid_index);
      if (!named(options, port.port)) continue;
      std::string why = port.port.why_not;
      if (why.empty() && options.on_demand_paging && !port.port.on_demand_paging)
        why = "it has no on-demand paging for what plait does, which the options ask for";
      if (!why.empty()) {
        note(name + " port " + std::to_string(i), why);
        continue;
      }
      made = std::make_unique<VerbsDomain>(options, *device, port);
      status = made->start();
    }
    return made != nullptr;
  });
  if (!none.empty()) return Status(Code::unsupported, "verbs: " + none);
  if (made == nullptr && reasons.empty())
    return Status(Code::invalid, "verbs: there is no device \"" + options.device + "\" with a port " +
                                     std::to_string(options.port));
  if (made == nullptr) return Status(Code::unsupported, "verbs: no port can be used. " + reasons);
  if (!status.ok()) return status;
  return std::unique_ptr<Domain>(std::move(made));
}

VerbsDomain::VerbsDomain(const Options& options, std::shared_ptr<Device> device, const OpenPort& port)
    : options_(options),
      device_(std::move(device)),
      port_(port),
      place_(port.port.device + " port " + std::to_string(port.port.port) + ", GID " +
             std::to_string(port.port.gid_index) + " " + to_string(port.gid.entry.gid)),
      nonce_(random_word()),
      signal_every_(std::max(1U, options.depth / 4U)),
      capabilities_(make_capabilities(options, port)) {
  if (options_.label.empty()) options_.label = "verbs:" + port.port.device;
  const bool infiniband = port.gid.entry.link == Link::infiniband;
  identity_.link = port.gid.entry.link;
  identity_.family = infiniband ? 0 : is_ip4(port.gid.entry.gid) ? 4 : 6;
  ByteView prefix = std::as_bytes(std::span(port.gid.entry.gid));
  if (infiniband) take(prefix, identity_.subnet);
}

Status VerbsDomain::start() {
  poller_ = Fd(epoll_create1(EPOLL_CLOEXEC));
  mail_.wake = Fd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  channel_.reset(ibv_create_comp_channel(&device_->context()));
  if (!poller_ || !mail_.wake || channel_ == nullptr)
    return Status::system(errno, place_ + ": descriptors to wait for completions (look at ulimit -n)");
  const int flags = fcntl(channel_->fd, F_GETFL);
  if (fcntl(channel_->fd, F_SETFL, flags | O_NONBLOCK) != 0)
    return Status::system(errno, place_ + ": a descriptor");
  PLAIT_TRY(watch(channel_->fd));
  PLAIT_TRY(watch(device_->context().async_fd));
  PLAIT_TRY(watch(mail_.wake.get()));
  if (options_.connect == Connect::cm) {
    if (port_.gid.entry.link == Link::infiniband)
      return Status(Code::unsupported,
                    place_ + ": the connection manager is used with IP addresses only; use tickets");
    PLAIT_TRY(manager_.start(port_.gid.entry.gid));
    PLAIT_TRY(watch(manager_.fd()));
  }
  PLAIT_TRY(probe_inline());
  PLAIT_TRY(grow());
  device_->subscribe(mail_);
  log::info("{}: {}, GID {} {}, {}; MTU {}, {:.1f} Gbit/s, inline {} bytes", options_.label, place_,
            port_.port.gid_index, port_.port.gid, port_.port.gid_why, port_.port.mtu,
            port_.port.bandwidth_Bps * 8e-9, capabilities_.inline_bytes);
  return {};
}

Status VerbsDomain::watch(int fd) {
  epoll_event event{};
  event.events = EPOLLIN;
  if (epoll_ctl(poller_.get(), EPOLL_CTL_ADD, fd, &event) == 0) return {};
  return Status::system(errno, place_ + ": watching a descriptor");
}

// How much a work request can carry is known only when a queue pair was made.
Status VerbsDomain::probe_inline() {
  const Owned<ibv_cq, ibv_destroy_cq> queue(ibv_create_cq(&device_->context(), 1, nullptr, nullptr, 0));
  if (queue == nullptr) return Status::system(errno, place_ + ": a completion queue (ulimit -l?)");
  for (uint32_t bytes = options_.inline_bytes;; bytes /= 2) {
    ibv_qp_init_attr wish{};
    wish.send_cq = wish.recv_cq = queue.get();
    wish.qp_type = IBV_QPT_RC;
    wish.cap = {1, 1, 1, 1, bytes};
    const Owned<ibv_qp, ibv_destroy_qp> made(ibv_create_qp(&device_->pd(), &wish));
    capabilities_.inline_bytes = bytes;
    if (made != nullptr) return {};
    if (bytes == 0) return Status::system(errno, place_ + ": a queue pair");
  }
}

VerbsDomain::~VerbsDomain() {
  for (VerbsEndpoint* endpoint : slots_) {
    if (endpoint != nullptr) endpoint->orphan();
  }
  if (device_->is_this_process()) {
    device_->unsubscribe(mail_);
    return;
  }
  // A forked child: what the kernel holds is its parent's.
  manager_.abandon();
  for (auto& queues : queues_) (void)queues.release();
  (void)channel_.release();
}

bool VerbsDomain::reaches(ByteView peer) const noexcept {
  const auto other = parse_identity(peer);
  return other && other->link == identity_.link && other->family == identity_.family &&
         other->subnet == identity_.subnet;
}

Result<std::unique_ptr<Region>> VerbsDomain::expose(const Memory& memory, Access access) {
  if (!device_->is_this_process())
    return Status(Code::state, "verbs: a domain cannot be used in a forked child");
  if (memory.bytes == 0 || (memory.base == nullptr && memory.dmabuf < 0))
    return Status(Code::invalid, options_.label + ": no memory to expose");
  if (memory.kind == MemoryKind::device && (memory.dmabuf < 0 || !port_.port.dmabuf)) {
    return Status(
        Code::unsupported,
        options_.label + ": memory of a device can be exposed by a dmabuf only, " +
            (memory.dmabuf < 0 ? "and it has none" : "which " + port_.port.device + " does not take"));
  }
  auto registration =
      device_->register_memory(memory, access, {options_.relaxed_ordering, options_.on_demand_paging});
  if (!registration.ok()) return registration.status();
  Key key;
  key.access = uint8_t(access);
  key.owner = nonce_;
  key.nonce = random_word();
  key.address = reinterpret_cast<uint64_t>(memory.base);
  key.bytes = memory.bytes;
  key.remote_key = access == Access::none ? 0 : (*registration)->rkey;
  key.sum = sum_of(key);
  return std::unique_ptr<Region>(
      std::make_unique<VerbsRegion>(device_, std::move(*registration), memory, key));
}

// Queues with room for one endpoint more.
Result<Queues*> VerbsDomain::room() {
  const auto found = std::ranges::find_if(queues_, [](const auto& queues) { return queues->take(); });
  if (found != queues_.end()) return found->get();
  PLAIT_TRY(grow());
  queues_.back()->take();
  return queues_.back().get();
}

Status VerbsDomain::grow() {
  const size_t receives = options_.signals + kControls;
  const size_t endpoints = queues_.empty() ? kFirstEndpoints : 2 * queues_.back()->endpoints();
  auto made = Queues::make(*device_, *channel_, {receives, receives + options_.depth + kControls}, endpoints);
  if (made.ok()) queues_.push_back(std::move(*made));
  return made.status();
}

Ticket VerbsDomain::ticket_of(uint64_t endpoint, uint16_t counters) const {
  const ibv_device_attr& limits = device_->attributes().orig_attr;
  Ticket t;
  t.link = port_.gid.entry.link;
  t.mtu = uint8_t(port_.attributes.active_mtu);
  while (options_.mtu != 0 && bytes_of_mtu(ibv_mtu(t.mtu)) > options_.mtu) --t.mtu;
  t.gid = port_.gid.entry.gid;
  t.packet = uint32_t(random_word()) & 0xffffff;
  t.slot = uint32_t(endpoint & kSlotMask);
  t.lid = port_.attributes.lid;
  t.counters = counters;
  t.signals = options_.signals;
  t.cm_port = manager_.port();
  t.reads = uint8_t(std::clamp(std::min(limits.max_qp_rd_atom, limits.max_qp_init_rd_atom), 1, int(kReads)));
  t.domain = nonce_;
  t.endpoint = random_word();
  return t;
}

Result<std::unique_ptr<Endpoint>> VerbsDomain::open(uint16_t counters, uint64_t cookie) {
  if (!device_->is_this_process())
    return Status(Code::state, "verbs: a domain cannot be used in a forked child");
  if (counters > kCounters) {
    return Status(Code::invalid, options_.label + ": " + std::to_string(counters) +
                                     " counters asked for, an endpoint has at most " +
                                     std::to_string(kCounters));
  }
  if (free_slots_.empty() && slots_.size() == kSlots)
    return Status(Code::memory, options_.label + ": it has " + std::to_string(kSlots) + " endpoints already");
  if (!pools_.ops.reserve(options_.depth + kControls) || !pools_.dones.reserve(options_.depth + 1U))
    return Status(Code::memory, options_.label + ": no address space for an endpoint's transfers");
  ++gone_;  // until it is there
  auto queues = room();
  if (!queues.ok()) return queues.status();
  if (free_slots_.empty()) {
    free_slots_.push_back(uint32_t(slots_.size()));
    slots_.push_back(nullptr);
  }
  const uint32_t slot = free_slots_.back();
  serial_ = serial_ == UINT32_MAX ? 1 : serial_ + 1;
  auto endpoint = std::make_unique<VerbsEndpoint>(*this, **queues, uint64_t{serial_} << kSlotBits | slot,
                                                  counters, cookie);
  --gone_;
  free_slots_.pop_back();
  slots_[slot] = endpoint.get();
  by_nonce_[endpoint->mine().endpoint] = endpoint.get();
  connecting_.reserve(by_nonce_.size());
  PLAIT_TRY(endpoint->start());
  return std::unique_ptr<Endpoint>(std::move(endpoint));
}

void VerbsDomain::forget(VerbsEndpoint& endpoint) noexcept {
  const auto slot = uint32_t(endpoint.id() & kSlotMask);
  slots_[slot] = nullptr;
  free_slots_.push_back(slot);
  by_nonce_.erase(endpoint.mine().endpoint);
  ++gone_;
  free_places();
}

void VerbsDomain::free_places() noexcept {
  if (!dones_.empty()) return;
  for (; gone_ != 0; --gone_) {
    pools_.ops.unreserve(options_.depth + kControls);
    pools_.dones.unreserve(options_.depth + 1U);
  }
}

VerbsEndpoint* VerbsDomain::by_id(uint64_t id) noexcept {
  const uint64_t slot = id & kSlotMask;
  VerbsEndpoint* endpoint = slot < slots_.size() ? slots_[slot] : nullptr;
  return endpoint != nullptr && endpoint->id() == id ? endpoint : nullptr;
}

VerbsEndpoint* VerbsDomain::by_nonce(uint64_t nonce) noexcept {
  const auto found = by_nonce_.find(nonce);
  return found == by_nonce_.end() ? nullptr : found->second;
}

void VerbsDomain::give(const Done& done, uint64_t endpoint, bool own) noexcept {
  DoneItem& item = dones_.push();
  item.done = done;
  item.endpoint = endpoint;
  item.own = own;
}

}  // namespace plait::transport::verbs
