#include "topology/cycles.h"

#include <algorithm>
#include <random>

namespace plait::topology {
namespace {

// Depth-first, from each chip in turn through larger ones only, so that each cycle is found from its smallest
// chip, and in one of its two directions.
class Enumeration {
 public:
  Enumeration(const Fabric& fabric, Allowed allowed, uint32_t length, uint64_t& effort,
              const std::function<bool(const std::vector<uint32_t>&)>& found)
      : fabric_(fabric), allowed_(std::move(allowed)), length_(length), effort_(effort), found_(found) {}

  bool run() {
    prune();
    home_.assign(fabric_.chips(), 0);
    for (uint32_t c = 0; c < fabric_.chips() && going_; c++) {
      if (!allowed_[c]) continue;
      if (measure(c) >= length_) extend(c);  // enough chips near enough
      allowed_[c] = false;
    }
    return going_;
  }

 private:
  // Chips with fewer than two neighbours are in no cycle.
  void prune() {
    std::vector<uint32_t> check(fabric_.chips());
    for (uint32_t c = 0; c < fabric_.chips(); c++) check[c] = c;
    while (!check.empty()) {
      const uint32_t c = check.back();
      check.pop_back();
      if (!allowed_[c]) continue;
      const auto near = fabric_.neighbours(c);
      if (std::count_if(near.begin(), near.end(), [&](uint32_t n) { return allowed_[n]; }) >= 2) continue;
      allowed_[c] = false;
      check.insert(check.end(), near.begin(), near.end());
    }
  }

  // How far each chip is from `start`, up to where a cycle can be; the rest is 0. Returns how many there are.
  uint32_t measure(uint32_t start) {
    for (const uint32_t c : seen_) home_[c] = 0;
    seen_.assign(1, start);
    home_[start] = 1;
    for (size_t at = 0; at < seen_.size(); at++) {
      const uint32_t from = seen_[at];
      if (home_[from] - 1 >= length_ / 2) break;
      for (const uint32_t to : fabric_.neighbours(from)) {
        if (!allowed_[to] || home_[to] != 0) continue;
        home_[to] = home_[from] + 1;
        seen_.push_back(to);
      }
    }
    effort_ -= std::min<uint64_t>(effort_, seen_.size());
    return uint32_t(seen_.size());
  }

  void extend(uint32_t chip) {
    path_.push_back(chip);
    allowed_[chip] = false;
    const uint32_t left = length_ - uint32_t(path_.size());
    for (const uint32_t to : fabric_.neighbours(chip)) {
      if (effort_ == 0) going_ = false;
      if (!going_) break;
      effort_--;
      // home_ is a distance and one more: `to` must get back over the chips that are left.
      if (!allowed_[to] || home_[to] == 0 || home_[to] - 1 > left) continue;
      if (left > 1) {
        extend(to);
      } else if (to > path_[1]) {
        path_.push_back(to);
        going_ = found_(path_);
        path_.pop_back();
      }
    }
    allowed_[chip] = true;
    path_.pop_back();
  }

  const Fabric& fabric_;
  Allowed allowed_;
  const uint32_t length_;
  uint64_t& effort_;
  const std::function<bool(const std::vector<uint32_t>&)>& found_;
  std::vector<uint32_t> home_, seen_, path_;
  bool going_ = true;
};

constexpr uint32_t kFar = UINT32_MAX;

// A cycle as links forward and back, which grows by replacing an edge with a way round through unused chips.
class Growth {
 public:
  Growth(const Fabric& fabric, const Allowed& allowed, uint32_t length, uint64_t effort)
      : fabric_(fabric),
        allowed_(allowed),
        length_(length),
        effort_(effort),
        next_(fabric.chips(), kNone),
        from_(fabric.chips(), kNone),
        depth_(fabric.chips(), kFar) {
    for (uint32_t c = 0; c < fabric.chips(); c++) {
      if (allowed[c]) chips_.push_back(c);
    }
  }

  std::vector<uint32_t> run() {
    while (effort_ > 0 && best_.size() < length_ && !chips_.empty()) {
      start();
      uint32_t idle = 0;
      const uint32_t patience = 40 * uint32_t(members_.size() + 50);
      while (effort_ > 0 && idle < patience && members_.size() >= 3 && members_.size() < length_) {
        const size_t before = members_.size();
        step(idle);
        idle = members_.size() > before ? 0 : idle + 1;
        if (members_.size() > best_.size()) keep();
      }
      if (members_.size() > best_.size()) keep();
    }
    return best_;
  }

 private:
  uint32_t random(size_t below) { return uint32_t(random_() % below); }
  void spend(uint64_t steps) { effort_ -= std::min(effort_, steps); }

  void keep() {
    best_.clear();
    uint32_t c = members_[0];
    do best_.push_back(c);
    while ((c = next_[c]) != members_[0]);
  }

  // A shortest cycle through a chip at random, no longer than wanted.
  void start() {
    for (const uint32_t c : members_) next_[c] = kNone;
    members_.clear();
    spend(1);
    const uint32_t a = chips_[random(chips_.size())];
    const auto near = fabric_.neighbours(a);
    if (near.empty()) return;
    const uint32_t b = near[random(near.size())];
    if (!allowed_[b]) return;
    const std::vector<uint32_t> way = around(a, b, length_ - 2);
    if (way.empty()) return;
    next_[b] = a;
    members_ = {a, b};
    splice(a, b, way);
  }

  // From a to b through unused chips, at least `least` of them and at most `most`; a and b are not told. A
  // shortest one, neighbours taken in an order at random.
  std::vector<uint32_t> around(uint32_t a, uint32_t b, uint32_t most) {
    std::vector<uint32_t> queue{a}, way;
    depth_[a] = 0;
    for (size_t at = 0; at < queue.size() && way.empty(); at++) {
      const uint32_t c = queue[at];
      const auto near = fabric_.neighbours(c);
      const uint32_t turn = random(std::max<size_t>(near.size(), 1));
      for (size_t i = 0; i < near.size(); i++) {
        const uint32_t to = near[(i + turn) % near.size()];
        if (to == b && c != a) {
          for (uint32_t back = c; back != a; back = from_[back]) way.push_back(back);
          break;
        }
        if (to == b || !allowed_[to] || next_[to] != kNone || depth_[to] != kFar || depth_[c] >= most)
          continue;
        depth_[to] = depth_[c] + 1;
        from_[to] = c;
        queue.push_back(to);
      }
    }
    spend(queue.size());
    for (const uint32_t c : queue) depth_[c] = kFar;
    std::reverse(way.begin(), way.end());
    return way;
  }

  void splice(uint32_t a, uint32_t b, const std::vector<uint32_t>& way) {
    uint32_t at = a;
    for (const uint32_t c : way) {
      next_[at] = c;
      members_.push_back(c);
      at = c;
    }
    next_[at] = b;
  }
  void drop(uint32_t c) {
    next_[c] = kNone;
    members_.erase(std::find(members_.begin(), members_.end(), c));
  }

  // Takes another way between two chips of the cycle: a longer one, or one as long, for a change; a shorter
  // one seldom, so that what is in the way of longer ones can go.
  void step(uint32_t idle) {
    spend(1);
    const uint32_t a = members_[random(members_.size())];
    const uint32_t longest = std::min(uint32_t(members_.size()) - 2, idle < 20 ? 3u : 14u),
                   edges = 1 + random(longest);
    std::vector<uint32_t> between;
    uint32_t end = next_[a];
    for (uint32_t i = 1; i < edges; i++, end = next_[end]) between.push_back(end);
    const uint32_t room = length_ - uint32_t(members_.size()) + uint32_t(between.size());
    const auto way = around(a, end, std::min(room, edges + 8));
    if (way.empty() || (way.size() < between.size() && random(idle < 100 ? 40 : 10) != 0)) return;
    for (const uint32_t c : between) drop(c);
    splice(a, end, way);
  }

  const Fabric& fabric_;
  const Allowed& allowed_;
  const uint32_t length_;
  uint64_t effort_;
  std::mt19937 random_{20260131};
  std::vector<uint32_t> next_, from_, depth_, chips_, members_, best_;
};

}  // namespace

bool each_cycle(const Fabric& fabric, const Allowed& allowed, uint32_t length, uint64_t& effort,
                const std::function<bool(const std::vector<uint32_t>&)>& found) {
  if (length < 3) return true;
  return Enumeration(fabric, allowed, length, effort, found).run();
}

std::vector<uint32_t> grow_cycle(const Fabric& fabric, const Allowed& allowed, uint32_t length,
                                 uint64_t effort) {
  return Growth(fabric, allowed, length, effort).run();
}

}  // namespace plait::topology
