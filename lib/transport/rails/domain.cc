#include "transport/rails/domain.h"

#include <sys/epoll.h>
#include <sys/timerfd.h>

#include <algorithm>
#include <cerrno>

#include "base/clock.h"
#include "base/log.h"

namespace plait::transport::rails {

Result<std::unique_ptr<Rails>> make_domain(std::vector<std::unique_ptr<Domain>> rails,
                                           const Options& options) {
  if (rails.empty() || rails.size() > kRails) {
    return Status(Code::invalid, "rails: " + std::to_string(rails.size()) + " rails; there may be 1 to " +
                                     std::to_string(kRails));
  }
  for (const auto& rail : rails) PLAIT_TRY(check_rail(*rail));
  auto domain = std::make_unique<RailsDomain>(std::move(rails), options);
  PLAIT_TRY(domain->start());
  return std::unique_ptr<Rails>(std::move(domain));
}

RailsDomain::RailsDomain(std::vector<std::unique_ptr<Domain>> rails, const Options& options)
    : options_(options),
      rails_(std::move(rails)),
      capabilities_(capabilities_of(rails_)),
      counts_(std::make_shared<AllCounts>(rails_.size())) {
  std::vector<ByteView> identities;
  piece_limit_ = kPiece;
  bool known = true;
  for (const auto& rail : rails_) {
    const Capabilities& c = rail->capabilities();
    identities.push_back(rail->identity());
    piece_limit_ = std::min(piece_limit_, c.max_transfer);
    (*counts_)[speeds_.size()].name = rail->name();
    speeds_.push_back(c.cost.bandwidth_Bps);
    known &= c.cost.bandwidth_Bps > 0;
  }
  if (!known) std::ranges::fill(speeds_, 1e9);
  identity_ = make_identity(identities);
  quiet_.resize(rails_.size());
  not_before_ns_.resize(rails_.size());
}

Status RailsDomain::start() {
  poller_ = Fd(epoll_create1(EPOLL_CLOEXEC));
  timer_ = Fd(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
  if (!poller_ || !timer_)
    return Status::system(errno, "rails: a descriptor to sleep on (look at ulimit -n)");
  return watch();
}

// One rail without a descriptor, and nobody can sleep on all.
Status RailsDomain::watch() {
  std::vector<int> fds = {timer_.get()};
  for (const auto& rail : rails_) fds.push_back(rail->wait_fd());
  sleeps_ = std::ranges::none_of(fds, [](int fd) { return fd < 0; });
  if (!sleeps_) return {};
  for (int fd : fds) {
    epoll_event event{};
    event.events = EPOLLIN;
    if (epoll_ctl(poller_.get(), EPOLL_CTL_ADD, fd, &event) != 0)
      return Status::system(errno, "rails: watching the descriptor of a rail");
  }
  return {};
}

RailsDomain::~RailsDomain() {
  for (RailsEndpoint* endpoint : endpoints_) endpoint->orphan();
  dones_.clear();
}

bool RailsDomain::reaches(ByteView peer_identity) const noexcept {
  const auto peers = parse_identity(peer_identity);
  if (!peers.ok() || peers->size() != rails_.size()) return false;
  for (size_t i = 0; i < rails_.size(); ++i) {
    if (rails_[i]->reaches((*peers)[i])) return true;
  }
  return false;
}

Result<std::unique_ptr<Endpoint>> RailsDomain::open(uint16_t counters, uint64_t cookie) {
  if (counters > capabilities_.counters) {
    return Status(Code::invalid, "rails: " + std::to_string(counters) +
                                     " counters asked for, an endpoint over these rails has at most " +
                                     std::to_string(capabilities_.counters));
  }
  const Layout layout = Layout::of(counters, rail_counters(rails_));
  // A place for each Done, and for the endpoint's own.
  if (!pools_.ops.reserve(capabilities_.depth) || !pools_.copies.reserve(kCounters * kWindow) ||
      !pools_.dones.reserve(capabilities_.depth + size_t{1}))
    return Status(Code::memory, "rails: no address space for an endpoint's transfers");
  auto endpoint = std::make_unique<RailsEndpoint>(*this, layout, cookie);
  endpoints_.push_back(endpoint.get());
  PLAIT_TRY(endpoint->start());
  return std::unique_ptr<Endpoint>(std::move(endpoint));
}

void RailsDomain::connect_failed(size_t rail, int64_t began_ns) noexcept {
  constexpr int64_t kShort = 10 * kMs, kShare = 32;
  const int64_t now = now_ns(), took = now - began_ns;
  if (took > kShort) not_before_ns_[rail] = now + std::min(kShare * took, 4 * kMs * options_.return_last_ms);
}

uint32_t RailsDomain::add_link(RailsEndpoint& endpoint) {
  if (free_links_.empty()) {
    free_links_.push_back(uint32_t(links_.size()));
    links_.emplace_back();
    free_links_.reserve(links_.size());
  }
  const uint32_t index = free_links_.back();
  free_links_.pop_back();
  links_[index].endpoint = &endpoint;
  return index;
}

// Dones of it that come still are nobody's.
void RailsDomain::drop_link(uint32_t id) noexcept {
  links_[id].endpoint = nullptr;
  links_[id].generation = (links_[id].generation + 1) & ((1U << kIndexBits) - 1);
  free_links_.push_back(id);
}

uint64_t RailsDomain::cookie(uint32_t id, uint32_t tag) const noexcept {
  return (uint64_t{links_[id].generation} << kIndexBits | id) << kTagBits | tag;
}

void RailsDomain::dispatch(size_t rail, const Done& done) noexcept {
  const uint32_t tag = done.cookie & ((1U << kTagBits) - 1);
  const uint64_t link = done.cookie >> kTagBits;
  const size_t index = link & ((1U << kIndexBits) - 1);
  if (index >= links_.size() || links_[index].endpoint == nullptr ||
      links_[index].generation != link >> kIndexBits)
    return;
  links_[index].endpoint->done(rail, tag, done.status);
}

void RailsDomain::done(const Done& done, RailsEndpoint* owner, bool own) noexcept {
  DoneItem& item = dones_.push();
  item.done = done;
  item.owner = owner;
  item.own = own;
}

void RailsDomain::forget(RailsEndpoint& endpoint) noexcept {
  std::erase(endpoints_, &endpoint);
  std::erase(hot_, &endpoint);
  for (DoneItem* item = dones_.empty() ? nullptr : &dones_.front(); item != nullptr; item = item->next) {
    if (item->owner != &endpoint) continue;
    item->gone = true;
    item->owner = nullptr;
  }
  pools_.ops.unreserve(capabilities_.depth);
  pools_.copies.unreserve(kCounters * kWindow);
  ++gone_;
}

void RailsDomain::trim() noexcept {
  pools_.ops.trim();
  pools_.copies.trim();
  pools_.dones.trim();
  for (const auto& rail : rails_) rail->trim();
  for (RailsEndpoint* endpoint : endpoints_) endpoint->trim();
}

std::vector<RailReport> RailsDomain::report() const {
  std::vector<RailReport> reports;
  for (size_t i = 0; i < rails_.size(); ++i) {
    const RailCounts& c = (*counts_)[i];
    const auto live = std::ranges::count_if(endpoints_, [&](auto* e) { return e->on_rail(i); });
    reports.push_back({c.name, uint32_t(endpoints_.size()), uint32_t(live), c.parts, c.bytes, c.resent,
                       c.resent_bytes, c.deaths, c.returns});
  }
  return reports;
}

void RailsDomain::tell(RailEvent event) const noexcept {
  event.name = (*counts_)[event.rail].name;
  if (options_.told) return options_.told(event);
  if (event.what == RailEvent::What::settled)
    log::warn("{}: rail {} ({}) to a peer is out, the others go on: {}", name(), event.rail, event.name,
              event.why);
  if (event.what == RailEvent::What::back)
    log::info("{}: rail {} ({}) to a peer is used again", name(), event.rail, event.name);
}

}  // namespace plait::transport::rails
