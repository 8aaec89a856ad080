#include "transport/verbs/domain.h"

#include <algorithm>

#include "transport/misuse.h"

namespace plait::transport::verbs {

namespace {

constexpr size_t kLongest = size_t{1} << 30;

Capabilities make_capabilities(const Options& options, const rdma::OpenPort& port) noexcept {
  Capabilities c;
  c.get = true;
  c.local_needs_region = true;
  c.holds_pages = !options.on_demand_paging;
  c.max_transfer = std::min<size_t>(port.attributes.max_msg_sz, kLongest);
  c.key_bytes = sizeof(Key);
  c.ticket_bytes = sizeof(Ticket);
  c.depth = options.depth;
  c.counters = rdma::kCounters;
  c.max_add = rdma::kMaxAdd;
  c.signals = options.signals;
  c.cost = {2e-6, 0.3e-6, port.port.bandwidth_Bps};
  return c;
}

Identity identity_of(const rdma::GidEntry& own) noexcept {
  Identity identity;
  const bool infiniband = own.link == rdma::Link::infiniband;
  identity.link = own.link;
  identity.family = infiniband ? 0 : rdma::is_ip4(own.gid) ? 4 : 6;
  ByteView prefix = std::as_bytes(std::span(own.gid));
  if (infiniband) take(prefix, identity.subnet);
  return identity;
}

Status in_verbs(const Status& status) {
  return status.ok() ? status : Status(status.code(), "verbs: " + std::string(status.text()));
}

}  // namespace

Result<std::unique_ptr<Domain>> make_domain(const Options& options) {
  PLAIT_TRY(in_verbs(check(options)));
  auto port = rdma::open_port({options.device, options.port, options.gid_index, options.on_demand_paging});
  if (!port.ok()) return in_verbs(port.status());
  auto made = std::make_unique<VerbsDomain>(options, std::move(*port));
  PLAIT_TRY(made->start());
  return std::unique_ptr<Domain>(std::move(made));
}

rdma::Work work_of(const Domain& domain) noexcept {
  return static_cast<const VerbsDomain&>(domain).hub().work();
}

Registered registered_of(const Domain& domain) noexcept {
  const auto counts = static_cast<const VerbsDomain&>(domain).hub().device().registrations().counts();
  return {counts.made, counts.found};
}

void force_error(Endpoint& endpoint) noexcept { static_cast<VerbsEndpoint&>(endpoint).force_error(); }

VerbsDomain::VerbsDomain(const Options& options, rdma::UsablePort&& port)
    : options_(options),
      nonce_(random_word()),
      hub_(options.label.empty() ? "verbs:" + port.port.port.device : options.label, options,
           std::move(port)),
      capabilities_(make_capabilities(options, hub_.port())),
      identity_(identity_of(hub_.port().gid.entry)) {}

Status VerbsDomain::start() {
  PLAIT_TRY(hub_.start());
  capabilities_.inline_bytes = hub_.inline_bytes();
  if (options_.cached_bytes != 0 && !options_.on_demand_paging)
    hub_.keep_registrations(options_.cached_bytes, options_.trusting, options_.memory_windows);
  return {};
}

VerbsDomain::~VerbsDomain() { hub_.orphan_all(); }

bool VerbsDomain::reaches(ByteView peer) const noexcept {
  const auto other = parse_identity(peer);
  return other && other->link == identity_.link && other->family == identity_.family &&
         other->subnet == identity_.subnet;
}

Result<std::unique_ptr<Region>> VerbsDomain::expose(const Memory& memory, Access access) {
  const std::string who(name());
  if (!hub_.device().is_this_process()) return in_forked_child(who);
  if (memory.bytes == 0 || (memory.base == nullptr && memory.dmabuf < 0))
    return Status(Code::invalid, who + ": no memory to expose");
  const rdma::Port& port = hub_.port().port;
  if (memory.kind == MemoryKind::device && (memory.dmabuf < 0 || !port.dmabuf)) {
    return Status(Code::unsupported,
                  who + ": memory of a device can be exposed by a dmabuf only, " +
                      (memory.dmabuf < 0 ? "and it has none" : "which " + port.device + " does not take"));
  }
  return VerbsRegion::make(hub_.shared_device(), memory, access,
                           {nonce_, options_.relaxed_ordering, options_.on_demand_paging});
}

Result<std::unique_ptr<Endpoint>> VerbsDomain::open(uint16_t counters, uint64_t cookie) {
  const std::string who(name());
  if (!hub_.device().is_this_process()) return in_forked_child(who);
  if (counters > rdma::kCounters) return too_many_counters(who, counters, rdma::kCounters);
  if (!dones_.reserve(places()))
    return Status(Code::memory, who + ": no address space for an endpoint's transfers");
  auto endpoint = std::make_unique<VerbsEndpoint>(*this, counters, cookie);
  busy_.reserve(++open_);
  PLAIT_TRY(endpoint->start());
  return std::unique_ptr<Endpoint>(std::move(endpoint));
}

void VerbsDomain::forget(VerbsEndpoint& endpoint) noexcept {
  endpoint.leave_dones(orphans_);
  std::erase(busy_, &endpoint);
  --open_;
  free_places();
}

void VerbsDomain::free_places() noexcept { dones_.unreserve(orphans_.settled() * places()); }

void VerbsDomain::trim() noexcept {
  hub_.trim();
  dones_.trim();
}

size_t VerbsDomain::poll(std::span<Done> done) noexcept {
  hub_.progress();
  if (busy_.empty() && orphans_.empty()) return 0;
  size_t count = orphans_.take(done);
  free_places();
  for (VerbsEndpoint* endpoint : busy_) count += endpoint->harvest(done.subspan(count));
  std::erase_if(busy_, [](VerbsEndpoint* endpoint) { return !(endpoint->listed = endpoint->has_dones()); });
  return count;
}

bool VerbsDomain::arm() noexcept { return busy_.empty() && orphans_.empty() && hub_.arm() && busy_.empty(); }

}  // namespace plait::transport::verbs
