#include "conformance/world.h"

#include <cstdlib>
#include <cstring>

namespace plait::transport::conformance {

void World::Pages::operator()(std::byte* p) const noexcept { std::free(p); }

Memory World::allocate(int /*rank*/, size_t bytes) {
  size_t whole = round_up(bytes == 0 ? 1 : bytes, 4096);
  auto* base = static_cast<std::byte*>(std::aligned_alloc(4096, whole));
  if (base == nullptr) std::abort();
  std::memset(base, 0, whole);
  memory_.emplace_back(base);
  Memory memory;
  memory.base = base;
  memory.bytes = bytes;
  return memory;
}

Result<std::unique_ptr<World>> world_of(
    const std::function<Result<std::unique_ptr<Domain>>(int rank)>& domain) {
  std::vector<std::unique_ptr<Domain>> domains;
  for (int rank = 0; rank < kRanks; ++rank) {
    auto made = domain(rank);
    if (!made.ok()) return made.status();
    domains.push_back(std::move(made).value());
  }
  return std::make_unique<World>(std::move(domains));
}

}  // namespace plait::transport::conformance
