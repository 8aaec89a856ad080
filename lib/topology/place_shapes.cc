#include "topology/place_shapes.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <numeric>

namespace plait::topology {
namespace {

// The chips that hang together with each free one; returns the number of the largest such part's.
uint32_t parts(const Fabric& f, std::vector<uint32_t>& size_at) {
  std::vector<bool> seen(f.chips(), false);
  size_at.assign(f.chips(), 0);
  uint32_t largest = 0;
  for (uint32_t c = 0; c < f.chips(); c++) {
    if (!f.is_free(c) || seen[c]) continue;
    std::vector<uint32_t> queue{c};
    seen[c] = true;
    for (size_t at = 0; at < queue.size(); at++) {
      for (const uint32_t to : f.neighbours(queue[at])) {
        if (f.is_free(to) && !seen[to]) seen[to] = true, queue.push_back(to);
      }
    }
    for (const uint32_t m : queue) size_at[m] = uint32_t(queue.size());
    largest = std::max(largest, uint32_t(queue.size()));
  }
  return largest;
}

// Depth-first, the neighbour with the fewest ways on first.
class Lines {
 public:
  Lines(const Fabric& f, uint32_t length, uint64_t effort, const std::vector<uint32_t>& size_at)
      : f_(f), length_(length), effort_(effort), free_(f.chips()), judge_(f, false, true) {
    for (uint32_t c = 0; c < f.chips(); c++) free_[c] = f.is_free(c) && size_at[c] >= length;
  }
  Placement run() {
    // A share of the effort for each start, so that one that leads nowhere does not use up all of it; what is
    // left is for those that were not done.
    std::vector<uint32_t> starts;
    for (uint32_t c = 0; c < f_.chips(); c++) {
      if (free_[c]) starts.push_back(c);
    }
    bool ended = true;
    for (const uint32_t c : starts) {
      budget_ = effort_ / starts.size();
      going_ = true;
      found_ = 0;
      extend(c);
      ended = ended && going_;
    }
    Placement p;
    p.proven = ended;
    p.found = judge_.any();
    p.bound = length_;
    if (p.found) {
      judge_.tell(p);
      if (!ended) p.why = "a line; the search for a better place ended early";
    } else {
      p.why = ended ? fmt::format("all ways were tried: the free chips have no line of {}", length_)
                    : fmt::format("no line of {} was found, and not all ways were tried", length_);
    }
    return p;
  }

 private:
  uint32_t ways(uint32_t c) const {
    const auto near = f_.neighbours(c);
    return uint32_t(std::count_if(near.begin(), near.end(), [&](uint32_t n) { return free_[n]; }));
  }
  void extend(uint32_t chip) {
    path_.push_back(chip);
    free_[chip] = false;
    if (path_.size() == length_) {
      judge_.see(path_);
      // Some of each start's: all would be millions.
      if (++found_ >= 200) going_ = false;
    } else {
      std::vector<std::pair<uint32_t, uint32_t>> next;
      for (const uint32_t to : f_.neighbours(chip)) {
        if (free_[to]) next.emplace_back(ways(to), to);
      }
      std::sort(next.begin(), next.end());
      for (const auto& [_, to] : next) {
        if (budget_ == 0) going_ = false;
        if (!going_) break;
        budget_--;
        extend(to);
      }
    }
    free_[chip] = true;
    path_.pop_back();
  }

  const Fabric& f_;
  const uint32_t length_;
  const uint64_t effort_;
  std::vector<bool> free_;
  Judge judge_;
  std::vector<uint32_t> path_;
  uint64_t budget_ = 0;
  uint32_t found_ = 0;
  bool going_ = true;
};

// All boxes of a size, at all places, in all orientations.
class BoxPlacer {
 public:
  BoxPlacer(const Fabric& f, std::vector<uint32_t> sides)
      : f_(f), sides_(std::move(sides)), judge_(f, false, false) {}

  Placement run() {
    const auto& factors = f_.lattice().factors();
    const size_t wanted = sides_.size();
    sides_.resize(std::max(factors.size(), wanted), 1);
    Placement p;
    p.proven = true;
    p.bound = std::accumulate(sides_.begin(), sides_.end(), 1u, std::multiplies<>());
    std::vector<size_t> turn(sides_.size());
    std::iota(turn.begin(), turn.end(), size_t{0});
    std::vector<std::vector<uint32_t>> done;
    do {
      std::vector<uint32_t> box;
      for (size_t d = 0; d < factors.size(); d++) box.push_back(sides_[turn[d]]);
      bool fits = true;
      for (size_t d = factors.size(); d < turn.size(); d++) fits = fits && sides_[turn[d]] == 1;
      if (!fits || std::find(done.begin(), done.end(), box) != done.end()) continue;
      done.push_back(box);
      turn_ = turn;
      each_origin(box);
    } while (std::next_permutation(turn.begin(), turn.end()));
    p.found = judge_.any();
    if (p.found)
      judge_.tell(p);
    else
      p.why = "all places and turns were tried: none has all its chips free and all its links";
    return p;
  }

 private:
  void each_origin(const std::vector<uint32_t>& box) {
    const auto& factors = f_.lattice().factors();
    for (uint32_t c = 0; c < f_.chips(); c++) {
      bool fits = true;
      for (size_t d = 0; d < factors.size() && fits; d++) {
        const uint32_t room = factors[d].kind == FactorKind::cycle
                                  ? factors[d].size
                                  : factors[d].size - f_.lattice().coordinate(c, d);
        fits = box[d] <= room;
      }
      if (fits) see(c, box);
    }
  }
  // The box in the order of the job's rows, though it lies turned.
  void see(uint32_t origin, const std::vector<uint32_t>& box) {
    const Lattice& lattice = f_.lattice();
    std::vector<Factor> job;
    for (const uint32_t s : sides_) job.push_back({FactorKind::line, s});
    const Lattice rows(job);
    std::vector<uint32_t> chips;
    for (uint64_t i = 0; i < rows.size(); i++) {
      uint64_t chip = origin;
      for (size_t d = 0; d < box.size(); d++) {
        const uint32_t at = lattice.coordinate(origin, d), size = lattice.factors()[d].size;
        const uint32_t to = (at + rows.coordinate(i, turn_[d])) % size;
        chip = chip + to * lattice.stride(d) - at * lattice.stride(d);
      }
      if (!f_.is_free(uint32_t(chip))) return;
      chips.push_back(uint32_t(chip));
    }
    for (uint64_t i = 0; i < rows.size(); i++) {
      for (size_t d = 0; d < job.size(); d++) {
        bool joined = true;
        rows.each_neighbour(i, d, [&](uint64_t to) { joined = joined && f_.joined(chips[i], chips[to]); });
        if (!joined) return;
      }
    }
    judge_.see(chips);
  }

  const Fabric& f_;
  std::vector<uint32_t> sides_;
  std::vector<size_t> turn_;
  Judge judge_;
};

}  // namespace

Placement place_line(const Fabric& f, uint32_t chips, uint64_t effort) {
  std::vector<uint32_t> size_at;
  const uint32_t largest = parts(f, size_at);
  if (largest < chips) {
    Placement p;
    p.proven = true;
    p.bound = largest;
    p.why = fmt::format("no more than {} free chips hang together, {} are wanted", largest, chips);
    return p;
  }
  return Lines(f, chips, effort, size_at).run();
}

Placement place_mesh(const Fabric& f, const std::vector<uint32_t>& sides) {
  if (f.regular()) return BoxPlacer(f, sides).run();
  Placement p;
  p.why = "meshes are placed in rooms of a regular shape";
  return p;
}

Placement place_connected(const Fabric& f, uint32_t chips) {
  std::vector<uint32_t> size_at;
  Placement p;
  p.bound = std::min(parts(f, size_at), chips);
  if (p.bound < chips) {
    p.proven = true;
    p.why = fmt::format("no more than {} free chips hang together, {} are wanted", p.bound, chips);
    return p;
  }
  Judge judge(f, false, false);
  for (uint32_t start = 0; start < f.chips(); start++) {
    if (size_at[start] < chips) continue;
    // By turns the chip beside it that has the most links to it; among those the first met.
    std::vector<uint32_t> links(f.chips(), 0), place{start}, beside;
    links[start] = UINT32_MAX;
    while (place.size() < chips) {
      for (const uint32_t to : f.neighbours(place.back())) {
        if (!f.is_free(to) || links[to] == UINT32_MAX) continue;
        if (links[to]++ == 0) beside.push_back(to);
      }
      const auto best = std::max_element(beside.begin(), beside.end(),
                                         [&](uint32_t a, uint32_t b) { return links[a] < links[b]; });
      place.push_back(*best);
      links[*best] = UINT32_MAX;
      beside.erase(best);
    }
    judge.see(place);
  }
  p.found = true;
  judge.tell(p);
  p.proven = p.edge == 0;
  if (!p.proven) p.why = "a compact place; that none is more compact is not proven";
  return p;
}

}  // namespace plait::topology
