// Faults of real links, in the virtual machine: rails are pairs of soft-RoCE devices (tests/lab/vm/roce.sh),
// iptables drops what arrives at one end of a link or at both, netem delays, reorders and loses what leaves
// it, and queue pairs fail. All of it by a schedule that a seed gives.
#pragma once

#include <future>

#include "transport/verbs/verbs.h"
#include "unit/rails/faults.h"

namespace plait::transport::rails {

// Rail r of rank k is the device rxe(2r + k + 1), on the interface v(2r + k + 1).
std::string device_of(int rank, size_t rail);
// Empty: there are devices for so many rails. Else why not.
std::string why_no_rails(size_t rails);

// Two ranks' rails, and their links' queue pairs.
class VerbsRails {
 public:
  // Rails retry for ever, but `mortal`, whose links fail when half a second passed without an answer.
  explicit VerbsRails(size_t mortal = SIZE_MAX);
  MakeRail make() const;
  // The queue pair of the rail's latest link fails, as if its device had found an error.
  void fail(int rank, size_t rail) const;

 private:
  struct Ends;
  std::shared_ptr<Ends> ends_;
  size_t mortal_;
};

struct LinkFault {
  enum class Kind : uint8_t { drop, cut, delay, late, jitter, loss, error, down };
  Kind kind = Kind::drop;
  size_t rail = 0;
  int rank = 0;  // drop: what it would receive; netem: what it sends; error: its queue pair
  int64_t pause_ms = 0, for_ms = 0;
  int amount = 0;  // ms, or percent

  std::string text() const;
  // What does it, and what undoes it; empty: nothing is to be run.
  std::string begin() const, end() const;
};

// `mortal`: only that rail is hurt. `kind`: by that alone, of the names in link_faults.cc.
std::vector<LinkFault> make_schedule(uint64_t seed, size_t rails, size_t faults, size_t mortal,
                                     std::string_view kind = "");

class LinkFaults final : public Faults {
 public:
  LinkFaults(std::vector<LinkFault> schedule, const VerbsRails& rails);
  ~LinkFaults() override;
  void step(Pair& pair, std::mt19937_64& random) override;
  void heal_all(Pair& pair) override;
  bool over() const override { return next_ == schedule_.size(); }
  std::string now() const override;
  // Of commands.
  const std::string& failed() const { return failed_; }

 private:
  // Of what went on, with the time since the first step.
  void note(const std::string& what);

  enum class Phase : uint8_t { pause, beginning, hurting, ending };
  void run(const std::string& command, Phase then);

  const std::vector<LinkFault> schedule_;
  const VerbsRails& rails_;
  size_t next_ = 0;
  Phase phase_ = Phase::pause;
  Deadline until_;
  std::future<int> command_;
  std::string running_, failed_, story_;
  int64_t first_ns_ = 0, latest_ns_ = 0, longest_ns_ = 0;  // steps, and the longest time between two
};

// Runs a line of the shell: true when it went well.
bool shell(const std::string& line);

}  // namespace plait::transport::rails
