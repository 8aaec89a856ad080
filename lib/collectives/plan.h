// Which program does a call, and the schedules made so far.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/status.h"
#include "collectives/choice/choice.h"
#include "collectives/choice/rooms.h"
#include "collectives/machine/real/schedule.h"
#include "collectives/method.h"

namespace plait::collectives {

// Which messages a codec encodes (coded.h): all, or those between hosts.
enum class Encoded : uint8_t { none, all, between_hosts };
struct Encoding {
  Encoded which = Encoded::none;
  bool exact = false;                   // the codec brings back every bit
  double ratio = 1;                     // about how long a wire is, of the values it stands for
  double encode_ns = 0, decode_ns = 0;  // what a byte of values takes
};

// Does a codec go with this collective?
bool encodes(Collective collective) noexcept;

// What a choice rests on: alike on all ranks, so that all choose alike.
struct Shape {
  Collective collective = Collective::barrier;
  uint64_t bytes = 0;  // of the whole vector
  int32_t root = 0;
  bool in_place = false;  // of all ranks, where they agree on it
  bool uneven = false;    // blocks have lengths of their own, and a rank's place is its own affair
  // False: the call is uneven, a rank knows the lengths of its own inputs and outputs only, and nothing can
  // be passed on.
  bool lengths_known = true;
  bool commutes = true;        // the operator
  bool deterministic = false;  // the same bits, whatever is chosen
  Encoding encoding = {};
  std::string_view algorithm;  // forced by name; empty: the planner's choice
};

// A candidate, and what became of it.
struct Weighed : Candidate {
  bool runs = true;     // on the real machine, here
  bool chosen = false;  // by the planner, whatever the caller forces
};

class Planner {
 public:
  // Ranks of one host with a core each, until seat() says otherwise. Its methods are those of the table,
  // until add() adds others.
  Planner(int32_t rank, int32_t size);

  // How the ranks lie, which all of them have agreed: where they are on several hosts, methods are added that
  // go level by level (choice/levels.h). Once, before the first choice and before add().
  void seat(const Seating& seating);
  // One more way to do a collective, on all ranks alike and in the same order. Before the first choice. As
  // Methods::add().
  Status add(Method method) { return methods_.add(std::move(method)); }
  const Methods& methods() const noexcept { return methods_; }
  // Measured times, which all ranks have alike.
  void use(std::shared_ptr<const Tuning> tuning) { chooser_->use(std::move(tuning)); }

  // Code::unsupported when the named algorithm does not exist or does not fit the call, or when none does.
  Result<const Method*> choose(const Shape& shape);
  // Whether the machine runs `method`, one of methods(), on every rank; else why not. Remembered.
  const Status& runs(const Method& method, bool in_place);
  // Seconds that the call takes as plait would make it, measured or predicted; infinity: not known.
  double predicted(const Shape& shape);
  // Does the call of `shape` take less time with its codec than without, as far as plait can tell?
  bool pays(const Shape& shape);
  // All that fit `shape`, the best one first, with their times; `shape.algorithm` is not looked at.
  std::vector<Weighed> candidates(const Shape& shape);
  // The same for people: a line each, after one that says what was asked.
  std::string explain(const Shape& shape);

  // The schedule of `method`, one of methods(), made on first use. Lives as long as the planner. `in_place`:
  // the buffers of this rank's call are. `joined`: as the program is written, else chunk by chunk
  // (chunkwise.h); real::joins() says which one a layout needs. Program::min_credits holds for all ranks of
  // the call. `entering`: contributions are scaled (entry.h).
  // `encoding`: its messages are encoded; not with `joined`.
  Result<const real::Schedule*> schedule(const Method& method, int32_t root, bool in_place, bool joined,
                                         bool entering = false, const Encoding& encoding = {});

 private:
  Result<const Method*> by_name(const Shape& shape);
  std::string names(Collective collective, bool (*of)(const Method&)) const;
  bool moves_straight(const Method& method) const;
  Status bounded(const Method& method) const;
  bool runs(const Method& method, const Question& question);
  bool is_fit(const Method& method, const Shape& shape);
  bool is_proved(const Method& method, int32_t root, const Encoding& encoding) const;
  double codec_seconds(const Method& method, const Shape& shape) const;
  Status lowers(const Method& method, int32_t rank, bool in_place) const;
  Result<real::Schedule> make(const Method& method, int32_t root, bool in_place, bool joined, bool entering,
                              const Encoding& encoding) const;
  Result<Program> encoded(const Method& method, int32_t root, const Program& program,
                          const Encoding& encoding) const;

  const int32_t rank_, size_;
  Methods methods_;
  std::unique_ptr<Chooser> chooser_;
  std::unordered_map<uint64_t, bool> fit_;   // by method and root: for codecs between hosts
  std::vector<int32_t> host_of_;             // of each rank; empty: all are on one
  std::string note_;                         // what the map of the machine says
  std::vector<std::optional<Status>> runs_;  // by method, in place or not
  std::unordered_map<uint64_t, std::unique_ptr<real::Schedule>> schedules_;
  mutable std::vector<std::optional<bool>> straight_;  // by method
  uint64_t latest_key_ = ~uint64_t(0);
  const real::Schedule* latest_ = nullptr;
};

// Up to this many ranks a method is proved before messages between hosts alone are encoded.
constexpr int32_t kProvedRanks = 64;
// Up to this many ranks each looks at the programs of those it sends to, for where results may be stored.
constexpr int32_t kGrantRanks = 64;

}  // namespace plait::collectives
