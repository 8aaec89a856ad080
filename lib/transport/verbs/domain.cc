#include "transport/verbs/domain.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <cerrno>

#include "base/log.h"

namespace plait::transport::verbs {

namespace {

constexpr size_t kMaxTransfer = size_t{1} << 30;
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

Status at(const std::string& place, const Status& status) {
  return status.ok() ? status : Status(status.code(), place + ": " + std::string(status.text()));
}

Capabilities make_capabilities(const Options& options, const rdma::OpenPort& port) noexcept {
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

Identity identity_of(const rdma::GidEntry& own) noexcept {
  Identity identity;
  const bool infiniband = own.link == Link::infiniband;
  identity.link = own.link;
  identity.family = infiniband ? 0 : is_ip4(own.gid) ? 4 : 6;
  ByteView prefix = std::as_bytes(std::span(own.gid));
  if (infiniband) take(prefix, identity.subnet);
  return identity;
}

}  // namespace

Result<std::unique_ptr<Domain>> make_domain(const Options& options) {
  PLAIT_TRY(check(options));
  auto port = rdma::open_port({options.device, options.port, options.gid_index, options.on_demand_paging});
  if (!port.ok()) return at("verbs", port.status());
  auto made = std::make_unique<VerbsDomain>(options, std::move(*port));
  PLAIT_TRY(made->start());
  return std::unique_ptr<Domain>(std::move(made));
}

Work work_of(const Domain& domain) noexcept {
  return const_cast<VerbsDomain&>(static_cast<const VerbsDomain&>(domain)).chain().work;
}

Registered registered_of(const Domain& domain) noexcept {
  const auto counts = static_cast<const VerbsDomain&>(domain).device().registrations().counts();
  return {counts.made, counts.found};
}

VerbsDomain::VerbsDomain(const Options& options, rdma::UsablePort&& port)
    : options_(options),
      device_(std::move(port.device)),
      port_(std::move(port.port)),
      place_(port_.port.device + " port " + std::to_string(port_.port.port) + ", GID " +
             std::to_string(port_.port.gid_index) + " " + to_string(port_.gid.entry.gid)),
      nonce_(random_word()),
      signal_every_(std::max(1U, options.depth / 4U)),
      capabilities_(make_capabilities(options, port_)),
      identity_(identity_of(port_.gid.entry)) {
  if (options_.label.empty()) options_.label = "verbs:" + port_.port.device;
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
  for (const int fd : {channel_->fd, device_->context().async_fd, mail_.wake.get()}) PLAIT_TRY(watch(fd));
  if (options_.connect == Connect::cm) PLAIT_TRY(at(place_, start_manager()));
  const auto most = rdma::inline_limit(*device_, options_.inline_bytes);
  if (!most.ok()) return at(place_, most.status());
  capabilities_.inline_bytes = *most;
  PLAIT_TRY(grow());
  device_->subscribe(mail_);
  start_cache();
  log::info("{}: {}, {}, {}; inline {} bytes", options_.label, place_, describe(port_.port),
            port_.port.gid_why, *most);
  return {};
}

Status VerbsDomain::watch(int fd) {
  epoll_event event{};
  event.events = EPOLLIN;
  if (epoll_ctl(poller_.get(), EPOLL_CTL_ADD, fd, &event) == 0) return {};
  return Status::system(errno, place_ + ": watching a descriptor");
}

Status VerbsDomain::start_manager() {
  if (port_.gid.entry.link == Link::infiniband)
    return Status(Code::unsupported, "the connection manager is used with IP addresses only; use tickets");
  const rdma::Manager::Options wish{options_.traffic_class, options_.timeout, options_.retries,
                                    options_.rnr_retries};
  manager_ = std::make_unique<rdma::Manager>(wish, [this](uint64_t id, const Status& status) {
    if (VerbsEndpoint* endpoint = by_id(id); endpoint != nullptr) endpoint->connected(status);
  });
  PLAIT_TRY(manager_->start(port_.gid.entry.gid));
  return watch(manager_->fd());
}

void VerbsDomain::start_cache() {
  if (options_.cached_bytes == 0 || options_.on_demand_paging) return;
  Status status = device_->keep_registrations(options_.cached_bytes, options_.trusting);
  if (status.ok() && options_.memory_windows) status = device_->use_windows(port_);
  if (!status.ok())
    log::info("{}: registrations that are not used any more are not kept{}: {}", options_.label,
              device_->registrations().keeps() ? " of what peers reach" : "", status.text());
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
  if (manager_ != nullptr) manager_->abandon();
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
  return VerbsRegion::make(device_, memory, access,
                           {nonce_, options_.relaxed_ordering, options_.on_demand_paging});
}

}  // namespace plait::transport::verbs
