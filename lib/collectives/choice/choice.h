// Which method does a call: the cheapest of those that fit, by measured times where there are some, else
// by the cost machine and its formulas.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "collectives/choice/tuning.h"
#include "collectives/machine/room.h"
#include "collectives/method.h"

namespace plait::collectives {

// What a choice rests on, besides the room: alike on all ranks of the call.
struct Question {
  Collective collective = Collective::barrier;
  uint64_t bytes = 0;          // of the whole vector
  int32_t root = 0;            // where one rank is apart
  bool in_place = false;       // looked at only where all ranks know it: not where one rank is apart
  bool uneven = false;         // blocks have lengths of their own, and a rank's place is its own affair
  bool commutes = true;        // the operator, where there is one
  bool deterministic = false;  // the bits must not depend on what is chosen
  bool lengths_known = true;   // of all messages, by all ranks; else it is uneven, and Runs decides what does
};

struct Candidate {
  const Method* method = nullptr;
  double predicted = 0;            // seconds; infinity: there is no formula, and too much to simulate
  bool simulated = false;          // by the cost machine, not by a formula
  bool proven = true;              // false: others were measured to be good here, this one not yet
  std::optional<double> measured;  // seconds, from a tuning file
};

// Sizes fall into classes: those above 2^(k-1) and up to 2^k bytes are treated as 2^k.
int size_class(uint64_t bytes) noexcept;

// One driving thread at a time.
class Chooser {
 public:
  // Whether the real machine runs it; the answer must be alike on all ranks. Asked of winners only.
  using Runs = std::function<bool(const Method&, const Question&)>;
  // `room` has passed check_room(); `methods` are of as many ranks, and stay.
  Chooser(Room room, const Methods& methods, Runs runs = {});

  // Measured times, which all ranks have alike; null: none. Forgets earlier choices.
  void use(std::shared_ptr<const Tuning> tuning);

  // Null where nothing fits. The first call of a class of shapes takes some 100 us, where methods were added
  // that only simulation can tell about some ms, the next ones nanoseconds.
  const Method* choose(const Question& question);

  // All that fit, the best one first; a candidate that does not run may be among them.
  std::vector<Candidate> candidates(const Question& question) const;

  const Room& room() const noexcept { return room_; }

 private:
  // All ranks are on one host, and nothing but its memory joins them.
  bool plain_host() const noexcept { return hosts_ == 1 && room_.pod_of.empty(); }
  // And they share its cores.
  bool crowded() const noexcept { return plain_host() && room_.cores > 0 && room_.ranks > room_.cores; }
  std::vector<Candidate> fitting(const Question& question) const;
  uint64_t class_of(const Question& question) const;
  double estimate(const Method& method, const Question& question) const;
  double estimate(const LevelOutline& level, double bytes, bool buffered) const;
  double estimate_on_commons(const Method& method, const Question& q) const;
  double estimate_in_crowd(const Method& method, const Question& question) const;
  std::optional<double> simulate(const Method& method, const Question& question, uint64_t& budget) const;
  void simulate_best(std::vector<Candidate>& candidates, const Question& question) const;

  Room room_;
  const Methods& methods_;
  int32_t hosts_ = 1, most_on_host_ = 1;
  LinkClass slowest_ = LinkClass::inside;  // that joins ranks here
  Runs runs_;
  std::shared_ptr<const Tuning> tuning_;
  std::unordered_map<uint64_t, const Method*> chosen_;  // by class of shapes
};

}  // namespace plait::collectives
