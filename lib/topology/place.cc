#include "topology/place.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <charconv>

#include "base/text.h"
#include "topology/cycles.h"
#include "topology/place_shapes.h"

namespace plait::topology {
namespace {

Placement none(std::string why, uint32_t bound = 0) {
  Placement p;
  p.proven = true;
  p.bound = bound;
  p.why = std::move(why);
  return p;
}

Allowed free_chips(const Fabric& f) {
  Allowed all(f.chips());
  for (uint32_t c = 0; c < f.chips(); c++) all[c] = f.is_free(c);
  return all;
}

Placement exact_ring(const Fabric& f, const Allowed& allowed, uint32_t k, Placement p, uint64_t effort) {
  Judge judge(f, true, true);
  const bool ended = each_cycle(f, allowed, k, effort, [&](const std::vector<uint32_t>& cycle) {
    judge.see(cycle);
    return !judge.perfect();
  });
  p.found = judge.any();
  p.proven = ended || judge.perfect();
  if (p.found) {
    judge.tell(p);
    if (!p.proven) p.why = "a ring; the search for a better place ended early";
    return p;
  }
  p.why = p.proven ? fmt::format("all ways were tried: the free chips have no ring of {}", k)
                   : fmt::format("no ring of {} was found, and not all ways were tried", k);
  return p;
}

Placement long_ring(const Fabric& f, const Allowed& allowed, uint32_t k, Placement p, uint64_t effort) {
  const std::vector<uint32_t> cycle = grow_cycle(f, allowed, k, effort / 8);
  if (cycle.empty()) {
    p.why = "no ring was found";
    return p;
  }
  Judge judge(f, true, true);
  judge.see(cycle);
  judge.tell(p);
  p.found = cycle.size() == k;
  if (!p.found)
    p.why = fmt::format("the longest ring found has {} chips of {}; none has more than {}", cycle.size(), k,
                        p.bound);
  return p;
}

Placement place_ring(const Fabric& f, uint32_t k, uint64_t effort) {
  if (k < 3) return none(fmt::format("a ring has three chips or more, not {}", k));
  const Allowed allowed = free_chips(f);
  const CycleBound bound = bound_cycle(f, allowed);
  Placement p;
  p.bound = std::min(k, bound.most);
  if (k > bound.most)
    p = none(fmt::format("no ring of free chips is longer than {}: {}", bound.most, bound.why), bound.most);
  else if (bound.bipartite && k % 2 == 1)
    p = none(
        fmt::format(
            "rings here have an even number of chips, as every link joins a black and a white field of a "
            "chessboard; {} is odd",
            k),
        k - 1);
  if (p.proven && (p.bound <= kExactRing || k <= kExactRing)) return p;
  if (p.proven) {  // what there is of fewer
    Placement q = long_ring(f, allowed, p.bound, p, effort);
    q.found = false;
    q.why = p.why;
    return q;
  }
  return k <= kExactRing ? exact_ring(f, allowed, k, std::move(p), effort)
                         : long_ring(f, allowed, k, std::move(p), effort);
}

}  // namespace

Result<Job> parse_job(std::string_view shape, uint32_t chips) {
  auto wrong = [&](std::string_view why) {
    std::string text = fmt::format("shape '{}': {}", shape.substr(0, 40), why);
    make_printable(text);
    return Status(Code::invalid, text);
  };
  Job job;
  job.chips = chips;
  if (shape == "line") job.shape = JobShape::line;
  if (shape == "tree" || shape == "connected") job.shape = JobShape::connected;
  if (shape.starts_with("mesh ")) shape.remove_prefix(5);
  if (shape != "ring" && shape != "line" && job.shape != JobShape::connected) {
    job.shape = JobShape::mesh;
    uint64_t all = 1;
    for (std::string_view left = shape;;) {
      uint32_t side = 0;
      const auto [end, error] = std::from_chars(left.data(), left.data() + left.size(), side);
      if (error != std::errc() || side < 1 || side > kMostFabricChips)
        return wrong("ring, line, AxB, or connected");
      all *= side;
      job.sides.push_back(side);
      left.remove_prefix(size_t(end - left.data()));
      if (all > kMostFabricChips || job.sides.size() > 6) return wrong("more chips than can be placed");
      if (left.empty()) break;
      if (left.front() != 'x') return wrong("ring, line, AxB, or connected");
      left.remove_prefix(1);
    }
    if (job.chips == 0) job.chips = uint32_t(all);
    if (job.chips != all) return wrong(fmt::format("has {} chips, not {}", all, job.chips));
  }
  if (job.chips < 1 || job.chips > kMostFabricChips) return wrong(fmt::format("of {} chips", job.chips));
  return job;
}

std::string describe(const Job& job) {
  switch (job.shape) {
    case JobShape::ring:
      return fmt::format("ring of {}", job.chips);
    case JobShape::line:
      return fmt::format("line of {}", job.chips);
    case JobShape::connected:
      return fmt::format("{} connected", job.chips);
    case JobShape::mesh:
      break;
  }
  return fmt::format("mesh {}", fmt::join(job.sides, "x"));
}

Placement place(const Fabric& f, const Job& job, uint64_t effort) {
  uint32_t free = 0;
  for (uint32_t c = 0; c < f.chips(); c++) free += f.is_free(c) ? 1 : 0;
  if (free < job.chips) return none(fmt::format("{} chips are free, {} are wanted", free, job.chips), free);
  if (f.switched) {
    Placement p;
    for (uint32_t c = 0; c < f.chips() && p.chips.size() < job.chips; c++) {
      if (f.is_free(c)) p.chips.push_back(c);
    }
    p.found = p.proven = true;
    p.bound = job.chips;
    return p;
  }
  switch (job.shape) {
    case JobShape::ring:
      return place_ring(f, job.chips, effort);
    case JobShape::line:
      return place_line(f, job.chips, effort);
    case JobShape::mesh:
      return place_mesh(f, job.sides);
    case JobShape::connected:
      break;
  }
  return place_connected(f, job.chips);
}

std::string check_place(const Fabric& f, const Job& job, const std::vector<uint32_t>& chips) {
  std::vector<bool> in(f.chips(), false);
  if (chips.size() != job.chips) return fmt::format("{} chips, not {}", chips.size(), job.chips);
  for (const uint32_t c : chips) {
    if (c >= f.chips() || !f.is_free(c) || in[c])
      return fmt::format("chip {} is not free, or there twice", c);
    in[c] = true;
  }
  if (f.switched) return {};
  auto joined = [&](uint32_t a, uint32_t b) {
    return f.joined(chips[a], chips[b]) ? std::string()
                                        : fmt::format("no link joins {} and {}", chips[a], chips[b]);
  };
  std::string why;
  const uint32_t n = job.chips;
  if (job.shape == JobShape::ring || job.shape == JobShape::line) {
    for (uint32_t i = job.shape == JobShape::ring ? 0 : 1; i < n && why.empty(); i++)
      why = joined(i, (i + n - 1) % n);
  } else if (job.shape == JobShape::mesh) {
    std::vector<Factor> sides;
    for (const uint32_t s : job.sides) sides.push_back({FactorKind::line, s});
    const Lattice mesh(sides);
    for (uint32_t i = 0; i < n; i++) {
      for (size_t d = 0; d < sides.size(); d++)
        mesh.each_neighbour(i, d, [&](uint64_t to) { why = why.empty() ? joined(i, uint32_t(to)) : why; });
    }
  } else {
    std::vector<uint32_t> queue{chips[0]};
    in[chips[0]] = false;
    for (size_t at = 0; at < queue.size(); at++) {
      for (const uint32_t to : f.neighbours(queue[at])) {
        if (in[to]) in[to] = false, queue.push_back(to);
      }
    }
    if (queue.size() != n) why = "the chips do not hang together";
  }
  return why;
}

}  // namespace plait::topology
