#include "collectives/plan.h"

#include <string>

namespace plait::collectives {
namespace {

// Largest allreduce in which every rank sends everything to every other: one exchange instead of two.
// Measured (docs/performance.md); over a network a round costs about as much as 64 KiB in all.
constexpr uint64_t exchange_limit(int32_t ranks, bool network) noexcept {
  if (network && ranks <= 8) return (64 * 1024) / uint64_t(ranks - 1);
  return ranks <= 8 ? 1024 : 256;
}

std::string_view pick(const Shape& shape, int32_t ranks, bool network) noexcept {
  const bool few = ranks <= kDirectRanks;
  switch (shape.collective) {
    case Collective::allreduce:
      if (few && shape.bytes <= exchange_limit(ranks, network)) return "all_to_all";
      return few ? "direct" : "ring";
    case Collective::reduce_scatter:
    case Collective::allgather:
      return few ? "direct" : "ring";
    case Collective::broadcast:
      return "star";
    case Collective::barrier:
      return "dissemination";
  }
  return {};
}

}  // namespace

Result<const Algorithm*> Planner::choose(const Shape& shape) const {
  const std::string_view name = shape.algorithm.empty() ? pick(shape, size_, network_) : shape.algorithm;
  const Algorithm* algorithm = find_algorithm(shape.collective, name);
  if (algorithm == nullptr) {
    std::string known;
    for (const Algorithm& a : algorithms()) {
      if (a.collective == shape.collective) known += (known.empty() ? "" : ", ") + std::string(a.name);
    }
    return Status(Code::unsupported, "no algorithm \"" + std::string(name) + "\" for " +
                                         std::string(name_of(shape.collective)) + "; there are: " + known);
  }
  if (!algorithm->accepts(size_)) {
    return Status(Code::unsupported, "algorithm " + std::string(name) + " has no program for " +
                                         std::to_string(size_) + " ranks");
  }
  return algorithm;
}

Result<const real::Schedule*> Planner::schedule(const Algorithm& algorithm, int32_t root, bool in_place) {
  const uint64_t index = uint64_t(&algorithm - algorithms().data());
  const uint64_t key = index << 40 | uint64_t(uint32_t(root)) << 1 | uint64_t(in_place);
  if (key == latest_key_) return latest_;
  auto it = schedules_.find(key);
  if (it == schedules_.end()) {
    auto program_of = [&](int32_t rank) { return algorithm.build(size_, rank, root, in_place); };
    auto lowered = real::lower(program_of(rank_),
                               size_ <= kDirectRanks ? real::ProgramOf(program_of) : real::ProgramOf());
    if (!lowered.ok()) return lowered.status();
    it = schedules_.emplace(key, std::make_unique<real::Schedule>(std::move(lowered).value())).first;
  }
  latest_key_ = key;
  latest_ = it->second.get();
  return latest_;
}

}  // namespace plait::collectives
