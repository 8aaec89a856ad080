// How the flows of a network share its links: max-min fairly (Bertsekas & Gallager, Data Networks, 6.5.2). No
// flow could have more without another, that has no more than it, having less.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "sim/heap.h"
#include "sim/network.h"

namespace plait::sim {

// Flows come, progress at rates that change as others come and go, and end. Flows of one route are a bundle:
// they have one rate, and end in the order of what they have left, so a bundle costs as much as a flow. What
// changes is dealt with once an instant, and only among the links and bundles that are joined with it; a
// bundle alone on its links is a division. In the steady state nothing is allocated. Times never go back.
class Fluid {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;
  static constexpr double kNever = std::numeric_limits<double>::infinity();

  // What a link has done.
  struct Use {
    double bytes = 0;   // of all messages that took it
    double busy = 0;    // seconds with any flow in it
    uint32_t most = 0;  // flows in it at once
  };

  explicit Fluid(const Network& network);

  // An empty bundle from one terminal to another; each of its flows has at most `cap` bytes a second. It is
  // gone as soon as it is empty again.
  uint32_t open(int32_t from, int32_t to, double cap);
  // Seconds of its links, and what a flow alone would have.
  double latency(uint32_t bundle) const noexcept { return bundles_[bundle].latency; }
  double best(uint32_t bundle) const noexcept;
  uint32_t hops(uint32_t bundle) const noexcept { return uint32_t(bundles_[bundle].route.size()); }
  // One flow more, known by `token`.
  void add(uint32_t bundle, double bytes, uint32_t token, double now);
  void set_capacity(uint32_t link, double capacity, double now);

  // Whether rates are yet to be found after the above: settle() before time goes on.
  bool unsettled() const noexcept { return !dirty_.empty(); }
  void settle(double now);
  // When the next flow ends.
  double next() const noexcept { return agenda_.empty() ? kNever : agenda_.time(); }
  // Takes out the flows of the bundle that is next. Of each f(token, gone): whether its bundle is gone with
  // it. `f` may open and add.
  template <class F>
  void end_next(double now, F f) {
    take_ended(agenda_.first(), now);
    const bool gone = gone_;
    for (size_t i = 0; i < ended_.size(); i++) f(ended_[i], gone);
    ended_.clear();
  }

  Use use(uint32_t link, double now) const noexcept;
  double rate(uint32_t bundle) const noexcept { return bundles_[bundle].rate; }
  // The first link of the bundle's route that moves nothing; kNone: there is none.
  uint32_t dead_link(uint32_t bundle) const noexcept;

 private:
  struct Member {
    uint32_t bundle, hop;  // of a bundle's route
  };
  struct Hop {
    uint32_t link, at;  // among the link's members
  };
  struct State {
    double capacity = 0, load = 0, since = 0;
    double rest = 0;     // while filling
    uint32_t flows = 0;  // of all members
    uint32_t left = 0;   // while filling: flows without a rate
    uint32_t seen = 0;
    Use use;
    std::vector<Member> members;
  };
  struct Flow {
    double end;  // what each flow of the bundle will have had
    uint32_t token;
    bool operator<(const Flow& o) const noexcept { return end < o.end || (end == o.end && token < o.token); }
  };
  struct Bundle {
    double cap = kNever, latency = 0, rate = 0;
    double had = 0, at = 0;  // bytes that each flow since the beginning has had by then
    uint32_t seen = 0;
    bool fixed = false;
    double found = 0;  // by filling
    std::vector<Hop> route;
    Heap<Flow> flows;
    uint32_t count() const noexcept { return uint32_t(flows.size()); }
  };
  struct Share {
    double share;
    uint32_t link;
    bool operator<(const Share& o) const noexcept {
      return share < o.share || (share == o.share && link < o.link);
    }
  };

  bool alone(const Bundle& b) const noexcept;
  void advance(Bundle& b, double now) noexcept;
  void attach(uint32_t bundle);
  void detach(uint32_t bundle);
  void changed(uint32_t bundle, double now);
  void take_ended(uint32_t bundle, double now);
  void set_rate(uint32_t bundle, double rate, double now);
  void schedule(uint32_t bundle, double now);
  void gather(uint32_t link);
  void fill();
  void fix(Bundle& b, double rate);

  const Network& network_;
  std::vector<State> links_;
  std::vector<Bundle> bundles_;
  std::vector<uint32_t> free_;
  Agenda agenda_;
  std::vector<uint32_t> dirty_;
  std::vector<uint32_t> ended_;
  bool gone_ = false;
  // Of the part that is being filled.
  uint32_t epoch_ = 0;
  std::vector<uint32_t> part_links_, part_bundles_, route_;
  Heap<Share> shares_, caps_;  // of links; of bundles
};

}  // namespace plait::sim
