// What is said of a run: faults on the way, sums at its end, and who waits for whom where it has none.
#include <algorithm>

#include "sim/run.h"

namespace plait::sim {

void Run::change(uint32_t number) {
  const Change& c = changes_[number];
  if (c.kind == Change::Kind::link) {
    fluid_.set_capacity(c.target, network_.link(c.target).capacity * c.factor, now_);
  } else if (c.kind == Change::Kind::dead) {
    account(ranks_[c.target]);
    ranks_[c.target].dead = true;
  }
}

void Run::sum_up(Outcome& o) {
  o.seconds = end_;
  o.messages = sent_;
  o.events = events_;
  o.refills = refills_;
  o.path = end_path_;
  for (uint32_t r = 0; r < ranks_.size(); r++) {
    RankUse use = ranks_[r].use;
    double waited = 0;
    for (uint32_t i = 0; i < ranks_[r].sends_at; i++) {  // by peer
      const Lane& lane = lanes_[ranks_[r].streams + i];
      const bool same = i > 0 && lanes_[ranks_[r].streams + i - 1].peer == lane.peer;
      waited = (same ? waited : 0) + lane.waited;
      if (waited > use.waited) use.waited = waited, use.waits_for = lane.peer;
    }
    o.ranks.push_back(use);
  }
  for (uint32_t i = 0; i < network_.links(); i++) o.links.push_back(fluid_.use(i, now_));
  o.slices = std::move(slices_);
  o.slices_cut = slices_cut_;
}

void Run::find_stuck(Outcome& o) const {
  std::vector<uint32_t> dead_link(ranks_.size(), kNone);
  for (const Message& m : messages_) {
    if (m.bundle == kNone) continue;
    uint32_t& link = dead_link[size_t(lanes_[m.stream].rank)];
    link = std::min(link, fluid_.dead_link(m.bundle));
  }
  auto guilty = [&](int32_t r) { return ranks_[size_t(r)].dead || dead_link[size_t(r)] != kNone; };
  for (uint32_t r = 0; r < ranks_.size(); r++) {
    const Rank& rank = ranks_[r];
    Stuck s{.rank = int32_t(r), .link = dead_link[r], .dead = rank.dead};
    bool unfinished = false;
    for (uint32_t w = 0; w < windows_; w++)
      unfinished = unfinished || slots_[size_t(r) * windows_ + w].left > 0;
    if (!unfinished) continue;
    for (uint32_t i = 0; i < scripts_.cast(r).streams.size(); i++) {
      const uint32_t stream = rank.streams + i;
      for (uint32_t w = 0; w < windows_; w++) {
        const Flight& f = flights_[size_t(stream) * windows_ + w];
        const bool waits = i < rank.sends_at ? f.waiting != kNone : f.list.head != kNone;
        if (waits && (s.peer < 0 || (guilty(lanes_[stream].peer) && !guilty(s.peer))))
          s.peer = lanes_[stream].peer;
      }
    }
    o.stuck.push_back(s);
  }
}

Result<Outcome> simulate(const Scripts& scripts, const Cut& cut, const Network& network,
                         const Parameters& parameters, std::span<const Change> changes,
                         const Options& options) {
  PLAIT_TRY(check(parameters));
  if (scripts.ranks() == 0 || scripts.ranks() > size_t(network.terminals()))
    return Status(Code::invalid, std::to_string(scripts.ranks()) + " ranks in a room of " +
                                     std::to_string(network.terminals()) + " places");
  for (const Change& c : changes) {
    const size_t targets = c.kind == Change::Kind::link ? network.links() : scripts.ranks();
    if (c.target >= targets) return Status(Code::invalid, "something happens to what is not there");
  }
  return Run(scripts, cut, network, parameters, changes, options).run();
}

}  // namespace plait::sim
