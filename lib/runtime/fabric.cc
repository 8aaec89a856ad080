#include "runtime/fabric.h"

#include <poll.h>

#include <algorithm>
#include <utility>

#include "transport/shm/shm.h"

namespace plait::runtime {

namespace {

WrapDomain& wrapper() {
  static auto* wrap = new WrapDomain;
  return *wrap;
}

}  // namespace

WrapDomain wrap_domains(WrapDomain wrap) { return std::exchange(wrapper(), std::move(wrap)); }

void Fabric::set(Way way, std::unique_ptr<transport::Domain> domain) {
  if (wrapper()) domain = wrapper()(rank_, way, std::move(domain));
  domains_[size_t(way)] = std::move(domain);
}

Status Fabric::open_shm(const std::string& host_id, transport::shm::Arena& arena) {
  auto domain = transport::shm::make_domain({.host_id = host_id});
  if (!domain.ok()) return domain.status();
  set(Way::shm, std::move(domain).value());
  auto region =
      this->domain(Way::shm)->expose({.base = arena.base(), .bytes = arena.bytes()}, transport::Access::both);
  if (!region.ok()) return region.status();
  arena_region_ = std::move(region).value();
  return {};
}

void Fabric::close() noexcept {
  arena_region_.reset();
  for (auto& domain : domains_) domain.reset();
}

size_t Fabric::poll(bool network, std::span<transport::Done> done) noexcept {
  size_t count = 0;
  for (size_t way = 0; way < (network ? kWays : 1); way++) {
    if (domains_[way] != nullptr) count += domains_[way]->poll(done.subspan(count));
  }
  return count;
}

void Fabric::trim() noexcept {
  for (auto& domain : domains_) {
    if (domain != nullptr) domain->trim();
  }
}

bool Fabric::arm() noexcept {
  return std::all_of(domains_.begin(), domains_.end(),
                     [](auto& domain) { return domain == nullptr || domain->arm(); });
}

void Fabric::sleep(int other, int most_ms) noexcept {
  std::array<pollfd, kWays + 1> fds;
  nfds_t count = 0;
  if (other >= 0) fds[count++] = {other, POLLIN, 0};
  for (auto& domain : domains_) {
    if (domain == nullptr) continue;
    const int fd = domain->wait_fd();
    if (fd >= 0) {
      fds[count++] = {fd, POLLIN, 0};
    } else {
      most_ms = std::min(most_ms, 1);
    }
  }
  (void)::poll(fds.data(), count, most_ms);
}

}  // namespace plait::runtime
