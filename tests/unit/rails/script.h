// A random script of puts and gets over rails that are hurt at random, and the shadow of what must come of
// it.
#pragma once

#include <deque>
#include <string>

#include "unit/rails/faults.h"

namespace plait::transport::rails {

constexpr size_t kStreams = 3;  // each way; counter s carries stream s, counter kStreams + s its credits
constexpr size_t kSlots = 4;
constexpr size_t kGetBytes = size_t{300} << 10;

// Which scripts a program runs: --seeds N, --seed S. Read by run_tests(), which is all that main() does.
struct Seeds {
  uint64_t first = 1, count = 0;
  std::string fault = {};  // --fault KIND
};
int run_tests(int argc, char** argv, Seeds& seeds);

class Script {
 public:
  // `patience_ms`: what all of it may take, of the time in which this process runs.
  Script(uint64_t seed, size_t rails, const MakeRail& make, Faults& faults, const Options& options = quick(),
         int64_t patience_ms = 30'000);
  // Empty: all went as it must. Else what did not.
  std::string run();
  Pair& pair() { return pair_; }
  // Of what moved, for people.
  std::string sums() const;

 private:
  // Messages of one stream: the n-th lies in slot n % kSlots, in parts of which the last has the signal.
  struct Message {
    size_t bytes = 0, parts = 0, posted = 0;
    uint16_t add = 0;
    uint64_t sum = 0;  // of this and all earlier adds
    When when = When::never;
    uint64_t cookie = 0;
  };
  struct Stream {
    size_t from = 0, index = 0;
    std::byte *source = nullptr, *target = nullptr;
    size_t slot_bytes = 0;
    std::deque<Message> sent;  // that were not taken yet; the last may be in the middle
    uint64_t begun = 0, whole = 0, taken = 0, total = 0, adds = 0, seen = 0;
    bool read = false;  // the next one, and not given back yet
  };

  std::byte value(const Stream& s, uint64_t n, size_t at) const;
  void begin(Stream& s);
  void post_part(Stream& s);
  void take(Stream& s);
  void check_scribbled(const Stream& s);
  void start_get(size_t side);
  void harvest(size_t side);
  bool over() const;
  std::string where() const;
  void wrong(const std::string& what);
  size_t random(size_t below) { return below == 0 ? 0 : random_() % below; }

  std::mt19937_64 random_;
  Pair pair_;
  std::vector<Stream> streams_;
  struct Get {
    uint64_t cookie = 0;
    size_t at = 0, bytes = 0;
  };
  std::array<std::deque<Get>, 2> gets_;
  std::array<size_t, 2> gets_left_{};
  std::array<std::vector<uint64_t>, 2> wanted_;
  Faults& faults_;
  const int64_t patience_ms_;
  uint64_t cookie_ = 0;
  std::string wrong_;
};

}  // namespace plait::transport::rails
