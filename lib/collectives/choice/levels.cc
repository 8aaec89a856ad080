#include "collectives/choice/levels.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <string>

namespace plait::collectives {

namespace {

// Algorithms for the ranks of a host, and for hosts; each of the first with each of the second.
struct Pairs {
  Collective collective;
  std::array<std::string_view, 4> inner;
  std::array<std::string_view, 5> outer;
};

// Small vectors are led: what a message costs is all that counts, and one rank of a host pays it. Large ones
// are sharded: every rank of a host is at work, and each byte leaves it once.
constexpr Pairs kPairs[] = {
    {Collective::allreduce,
     {"direct", "ring", "star", "binomial"},
     {"ring", "direct", "recursive_doubling", "rabenseifner", "all_to_all"}},
    {Collective::reduce_scatter, {"direct", "ring"}, {"direct", "ring", "recursive_halving"}},
    {Collective::allgather, {"direct", "ring"}, {"direct", "ring", "recursive_doubling"}},
    {Collective::broadcast, {"star", "binomial", "direct"}, {"star", "binomial", "pipeline", "ring"}},
    {Collective::reduce, {"star", "binomial", "direct"}, {"star", "binomial", "direct"}},
    {Collective::barrier, {"star", "binomial"}, {"dissemination", "star", "binomial"}},
};

// Hosts as groups of positions: ranks of a host are adjacent there, wherever their numbers are.
std::shared_ptr<const Hierarchy> hosts_of(const Seating& seating) {
  std::vector<int> sizes;
  for (int32_t host : seating.host_of) {
    sizes.resize(std::max(sizes.size(), size_t(host) + 1));
    sizes[size_t(host)]++;
  }
  const int hosts = int(sizes.size());
  if (hosts < 2 || hosts == seating.ranks) return nullptr;
  std::vector<int32_t> order(size_t(seating.ranks));
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {}, [&](int32_t rank) { return seating.host_of[size_t(rank)]; });
  auto made = Hierarchy::make({std::move(sizes), {hosts}}, std::move(order));
  return made.ok() ? std::make_shared<const Hierarchy>(std::move(*made)) : nullptr;
}

}  // namespace

void add_levels(Methods& methods, const Seating& seating) {
  const auto hosts = hosts_of(seating);
  if (hosts == nullptr) return;
  for (const Pairs& pairs : kPairs) {
    for (std::string_view inner : pairs.inner) {
      for (std::string_view outer : pairs.outer) {
        if (inner.empty() || outer.empty()) continue;
        const std::string name = std::string(inner) + "/" + std::string(outer);
        auto made = Composition::make(pairs.collective, name, hosts);
        if (!made.ok()) continue;  // not for hosts of these sizes
        auto method = method_of(std::make_shared<const Composition>(std::move(*made)), name);
        if (method.ok()) (void)methods.add(std::move(*method));  // its name is new, and it is of these ranks
      }
    }
  }
}

}  // namespace plait::collectives
