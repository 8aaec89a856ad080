#include "sim/ways.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <numeric>

#include "collectives/algorithms.h"
#include "collectives/compose.h"

namespace plait::sim {

using namespace collectives;

namespace {

using Names = std::vector<std::string_view>;

// What levels are made of where all ways are compared: inside, outside, and outermost of three.
struct Parts {
  Collective collective;
  Names inner, outer, outermost;
};

const Parts kParts[] = {
    {Collective::allreduce,
     {"direct", "ring", "rabenseifner", "binomial"},
     {"ring", "direct", "recursive_doubling", "rabenseifner", "swing", "double_tree"},
     {"ring", "rabenseifner", "double_tree"}},
    {Collective::reduce_scatter, {"direct", "ring"}, {"direct", "ring", "recursive_halving"}, {}},
    {Collective::allgather, {"direct", "ring"}, {"direct", "ring", "recursive_doubling"}, {}},
    {Collective::broadcast, {"star", "binomial", "direct"}, {"star", "binomial", "pipeline", "ring"}, {}},
    {Collective::reduce, {"star", "binomial", "direct"}, {"star", "binomial", "direct"}, {}},
    {Collective::barrier, {"star", "binomial"}, {"dissemination", "star", "binomial"}, {}},
};

Way way_of(const Algorithm& row, const Question& q) {
  return {std::string(row.name), row.chunks(q.ranks), [&row, n = q.ranks, root = q.root](int32_t rank) {
            return Result<Program>(row.build(n, rank, root, true));
          }};
}

// The outermost levels as one, until there are `count`.
std::vector<std::vector<int>> merged(const std::vector<std::vector<int>>& levels, size_t count) {
  if (levels.size() <= count) return levels;
  std::vector<std::vector<int>> sizes(levels.begin(), levels.begin() + std::ptrdiff_t(count));
  auto& last = sizes.back();
  // As many units as all of its groups have; where one number stands for all groups, as levels above have.
  int64_t units = std::accumulate(last.begin(), last.end(), int64_t{0});
  if (last.size() == 1) {
    int64_t groups = 1;
    for (size_t l = levels.size(); l-- > count;)
      groups = levels[l].size() == 1 ? groups * levels[l][0]
                                     : std::accumulate(levels[l].begin(), levels[l].end(), int64_t{0});
    units *= groups;
  }
  last.assign(1, int(units));
  return sizes;
}

Result<Way> compose(const Question& q, const std::string& name, const std::string& parts,
                    std::vector<std::vector<int>> sizes, const std::vector<int32_t>& order) {
  auto hierarchy = Hierarchy::make(std::move(sizes), order);
  if (!hierarchy.ok()) return hierarchy.status();
  if (hierarchy->n() != q.ranks)
    return Status(Code::invalid,
                  fmt::format("the room's levels are {} ranks, not {}", hierarchy->n(), q.ranks));
  auto made = Composition::make(q.collective, parts, std::move(*hierarchy));
  if (!made.ok()) return made.status();
  auto composition = std::make_shared<const Composition>(std::move(*made));
  return Way{name, composition->chunks(),
             [composition, root = q.root](int32_t rank) { return composition->build(rank, root, true); }};
}

Result<Way> compose(const Question& q, const std::string& name) {
  const auto names = size_t(std::count(name.begin(), name.end(), '/')) + 1;
  if (names > q.levels.size())
    return Status(Code::invalid,
                  fmt::format("{} names {} levels, the room has {}", name, names, q.levels.size()));
  return compose(q, name, name, merged(q.levels, names), q.order);
}

Result<Way> ring_of_links(const Question& q) {
  const std::string name(kRingOfLinks);
  if (q.ring.empty())
    return Status(Code::unsupported, fmt::format("{}: {}", name, q.no_ring.empty() ? "no ring" : q.no_ring));
  return compose(q, name, "ring", {{q.ranks}}, q.ring);
}

}  // namespace

Result<Way> find_way(const Question& q, const std::string& name) {
  if (name == kRingOfLinks) return ring_of_links(q);
  if (name.find('/') != std::string::npos) return compose(q, name);
  const Algorithm* row = find_algorithm(q.collective, name);
  if (row == nullptr) {
    std::string names;
    for (const Algorithm& a : algorithms())
      if (a.collective == q.collective) names += (names.empty() ? "" : ", ") + std::string(a.name);
    return Status(Code::invalid,
                  fmt::format("there is no {} '{}'; there are {}, and two or more of them as ring/direct",
                              name_of(q.collective), name, names));
  }
  if (!row->accepts(q.ranks))
    return Status(Code::unsupported,
                  fmt::format("{} {} has no programs for {} ranks", name, name_of(q.collective), q.ranks));
  return way_of(*row, q);
}

std::vector<Way> all_ways(const Question& q) {
  std::vector<Way> ways;
  for (const Algorithm& a : algorithms())
    if (a.collective == q.collective && a.accepts(q.ranks)) ways.push_back(way_of(a, q));
  if (auto way = ring_of_links(q); way.ok()) ways.push_back(std::move(*way));
  auto add = [&](const std::string& name) {
    if (auto way = compose(q, name); way.ok()) ways.push_back(std::move(*way));
  };
  for (const Parts& p : kParts) {
    if (p.collective != q.collective || q.levels.size() < 2) continue;
    for (auto a : p.inner)
      for (auto b : p.outer) add(fmt::format("{}/{}", a, b));
    if (q.levels.size() != 3) continue;
    for (auto a : p.inner)
      for (auto b : p.outermost)
        for (auto c : p.outermost) add(fmt::format("{}/{}/{}", a, b, c));
  }
  return ways;
}

Result<double> count_messages(const Way& way, int32_t ranks, uint32_t segments) {
  constexpr int kLooks = 4;
  double sends = 0;
  int looks = 0;
  for (; looks < std::min(kLooks, ranks); looks++) {
    auto program = way.build(int32_t(int64_t{looks} * ranks / std::min(kLooks, ranks)));
    if (!program.ok()) return program.status();
    sends += double(std::count_if(program->steps.begin(), program->steps.end(),
                                  [](const Step& s) { return s.op == Op::send; }));
  }
  return sends / looks * ranks * segments;
}

Status make_scripts(const Way& way, int32_t ranks, const Cut& cut, Scripts& scripts,
                    const std::function<bool(double)>& progress) {
  for (int32_t r = 0; r < ranks; r++) {
    if (progress && r % 64 == 0 && !progress(double(r) / ranks))
      return Status(Code::timeout, "took too long");
    auto program = way.build(r);
    if (!program.ok()) return program.status();
    PLAIT_TRY(scripts.add(*program, ranks, cut));
  }
  return {};
}

double bus_factor(Collective collective, int32_t n) noexcept {
  switch (collective) {
    case Collective::allreduce:
      return 2.0 * (n - 1) / n;
    case Collective::broadcast:
    case Collective::reduce:
    case Collective::barrier:
      return 1;
    default:
      return double(n - 1) / n;
  }
}

}  // namespace plait::sim
