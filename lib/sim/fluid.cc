#include "sim/fluid.h"

#include <algorithm>

namespace plait::sim {

Fluid::Fluid(const Network& network) : network_(network), links_(network.links()) {
  for (uint32_t i = 0; i < links_.size(); i++) links_[i].capacity = network.link(i).capacity;
}

uint32_t Fluid::open(int32_t from, int32_t to, double cap) {
  if (free_.empty()) {
    free_.push_back(uint32_t(bundles_.size()));
    bundles_.emplace_back();
  }
  const uint32_t number = free_.back();
  free_.pop_back();
  Bundle& b = bundles_[number];
  b.cap = cap, b.latency = 0, b.rate = 0, b.had = 0;
  b.route.clear();
  route_.clear();
  network_.route(from, to, route_);
  for (uint32_t link : route_) {
    b.route.push_back({link, 0});
    b.latency += network_.link(link).latency;
  }
  return number;
}

double Fluid::best(uint32_t bundle) const noexcept {
  const Bundle& b = bundles_[bundle];
  double rate = b.cap;
  for (const Hop& hop : b.route) rate = std::min(rate, links_[hop.link].capacity);
  return rate;
}

uint32_t Fluid::dead_link(uint32_t bundle) const noexcept {
  for (const Hop& hop : bundles_[bundle].route)
    if (links_[hop.link].capacity <= 0) return hop.link;
  return kNone;
}

Fluid::Use Fluid::use(uint32_t link, double now) const noexcept {
  Use use = links_[link].use;
  if (links_[link].flows > 0) use.busy += now - links_[link].since;
  return use;
}

bool Fluid::alone(const Bundle& b) const noexcept {
  return std::all_of(b.route.begin(), b.route.end(),
                     [&](const Hop& hop) { return links_[hop.link].members.size() == 1; });
}

void Fluid::advance(Bundle& b, double now) noexcept {
  if (b.rate > 0) b.had = b.rate == kNever ? b.flows.top().end : b.had + b.rate * (now - b.at);
  b.at = now;
}

void Fluid::attach(uint32_t bundle) {
  Bundle& b = bundles_[bundle];
  for (uint32_t i = 0; i < b.route.size(); i++) {
    auto& members = links_[b.route[i].link].members;
    b.route[i].at = uint32_t(members.size());
    members.push_back({bundle, i});
  }
}

void Fluid::detach(uint32_t bundle) {
  for (const Hop& hop : bundles_[bundle].route) {
    auto& members = links_[hop.link].members;
    const Member last = members.back();
    members[hop.at] = last;
    bundles_[last.bundle].route[last.hop].at = hop.at;
    members.pop_back();
  }
}

void Fluid::add(uint32_t bundle, double bytes, uint32_t token, double now) {
  if (bundles_[bundle].count() == 0) {
    attach(bundle);
    bundles_[bundle].had = 0;
    bundles_[bundle].at = now;
  } else {
    advance(bundles_[bundle], now);
  }
  Bundle& b = bundles_[bundle];
  b.flows.push({b.had + bytes, token});
  for (const Hop& hop : b.route) {
    State& link = links_[hop.link];
    link.use.bytes += bytes;
    link.load += b.rate;
    if (link.flows++ == 0) link.since = now;
    link.use.most = std::max(link.use.most, link.flows);
  }
  changed(bundle, now);
}

// The bundle has as many flows as before no more.
void Fluid::changed(uint32_t bundle, double now) {
  Bundle& b = bundles_[bundle];
  if (alone(b)) {
    double rate = b.cap;
    for (const Hop& hop : b.route) rate = std::min(rate, links_[hop.link].capacity / b.count());
    return set_rate(bundle, rate, now);
  }
  dirty_.push_back(b.route.front().link);
  schedule(bundle, now);
}

void Fluid::set_rate(uint32_t bundle, double rate, double now) {
  Bundle& b = bundles_[bundle];
  if (rate != b.rate) {
    advance(b, now);
    for (const Hop& hop : b.route) links_[hop.link].load += (rate - b.rate) * b.count();
    b.rate = rate;
  }
  schedule(bundle, now);
}

void Fluid::schedule(uint32_t bundle, double now) {
  const Bundle& b = bundles_[bundle];
  const double rest = std::max(0.0, b.flows.top().end - b.had);
  if (b.rate <= 0) return agenda_.remove(bundle);
  if (rest == 0) return agenda_.set(bundle, now);
  agenda_.set(bundle, b.at + rest / b.rate);
}

void Fluid::set_capacity(uint32_t link, double capacity, double now) {
  links_[link].capacity = capacity;
  for (const Member& m : links_[link].members) advance(bundles_[m.bundle], now);
  if (!links_[link].members.empty()) dirty_.push_back(link);
}

void Fluid::take_ended(uint32_t bundle, double now) {
  Bundle& b = bundles_[bundle];
  advance(b, now);
  b.had = std::max(b.had, b.flows.top().end);
  const uint32_t before = b.count();
  // What rounding alone tells apart ends together.
  while (!b.flows.empty() && b.flows.top().end <= b.had * (1 + 1e-12) + 1e-9) {
    ended_.push_back(b.flows.top().token);
    b.flows.pop();
  }
  const uint32_t gone = before - b.count();
  gone_ = b.flows.empty();
  for (const Hop& hop : b.route) {
    State& link = links_[hop.link];
    // Who shares a link that is not full is held up elsewhere.
    const bool full = link.load >= link.capacity * (1 - 1e-9);
    link.load -= b.rate * gone;
    link.flows -= gone;
    if (link.flows == 0) link.use.busy += now - link.since, link.load = 0;
    if (full && link.members.size() > 1) dirty_.push_back(hop.link);
  }
  if (!gone_) return changed(bundle, now);
  agenda_.remove(bundle);
  detach(bundle);
  free_.push_back(bundle);
}

// All that is joined with a link, over bundles and their links.
void Fluid::gather(uint32_t first) {
  part_links_.assign(1, first);
  part_bundles_.clear();
  links_[first].seen = epoch_;
  for (size_t i = 0; i < part_links_.size(); i++) {
    for (const Member& m : links_[part_links_[i]].members) {
      Bundle& b = bundles_[m.bundle];
      if (b.seen == epoch_) continue;
      b.seen = epoch_, b.fixed = false;
      part_bundles_.push_back(m.bundle);
      for (const Hop& hop : b.route) {
        if (links_[hop.link].seen == epoch_) continue;
        links_[hop.link].seen = epoch_;
        part_links_.push_back(hop.link);
      }
    }
  }
}

void Fluid::fix(Bundle& b, double rate) {
  b.fixed = true;
  b.found = rate;
  for (const Hop& hop : b.route) {
    State& link = links_[hop.link];
    link.rest = std::max(0.0, link.rest - rate * b.count());
    link.left -= b.count();
  }
}

// Progressive filling: the rates of all grow alike until a link is full or a flow at its cap; these stay, the
// others grow on. A link's share of what is left never shrinks on the way, so that the heap may hold old
// ones.
void Fluid::fill() {
  shares_.clear(), caps_.clear();
  for (uint32_t i : part_links_) {
    State& link = links_[i];
    link.rest = link.capacity, link.left = link.flows;
    if (link.left > 0) shares_.push({link.rest / link.left, i});
  }
  for (uint32_t i : part_bundles_)
    if (bundles_[i].cap < kNever) caps_.push({bundles_[i].cap, i});
  while (!shares_.empty()) {
    const Share least = shares_.top();
    State& link = links_[least.link];
    const double share = link.left > 0 ? link.rest / link.left : 0;
    if (link.left == 0 || share > least.share) {
      shares_.pop();
      if (link.left > 0) shares_.push({share, least.link});
      continue;
    }
    if (!caps_.empty() && caps_.top().share <= share) {
      Bundle& b = bundles_[caps_.top().link];
      if (!b.fixed) fix(b, caps_.top().share);
      caps_.pop();
      continue;
    }
    shares_.pop();
    for (const Member& m : link.members)
      if (!bundles_[m.bundle].fixed) fix(bundles_[m.bundle], share);
  }
}

void Fluid::settle(double now) {
  epoch_++;
  for (uint32_t link : dirty_) {
    if (links_[link].seen == epoch_) continue;
    gather(link);
    fill();
    for (uint32_t i : part_bundles_) set_rate(i, bundles_[i].found, now);
    for (uint32_t i : part_links_) links_[i].load = links_[i].capacity - links_[i].rest;
  }
  dirty_.clear();
}

}  // namespace plait::sim
