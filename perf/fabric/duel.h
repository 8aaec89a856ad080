// Compares two ways to move the same bytes between two processes: plait's, and a bare loop over the same
// library. Forks two ranks, each with both contestants, which take turns within every round, so that what
// else the machine does hits both alike; reports medians. Knows no fabric.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/status.h"

namespace plait::perf::fabric {

// Rank 0 is the one whose time counts.
class Party {
 public:
  Party(int rank, int socket) noexcept : rank_(rank), socket_(socket) {}
  int rank() const noexcept { return rank_; }
  // Gives `mine` to the other rank, and its bytes to me; both call it. `meanwhile` is called over and over
  // while the other is waited for. Code::peer when the other has died, Code::timeout after 20 s.
  Result<Bytes> swap(ByteView mine, const std::function<void()>& meanwhile = {}) const;

 private:
  int rank_, socket_;
};

enum class Kind : uint8_t { latency, bandwidth };

struct Load {
  Kind kind = Kind::latency;
  size_t bytes = 0;
  int count = 0;
};

// One way to move bytes. Calls come in the same order at both ranks.
class Contestant {
 public:
  virtual ~Contestant() = default;
  // Connects; loads have at most `most` bytes.
  virtual Status meet(const Party& party, size_t most) = 0;
  // latency: `count` times there and back, rank 0 first. bandwidth: `count` messages from rank 0, as many
  // under way as the contestant likes; it returns when all have landed and rank 0 knows. Must end with an
  // error when nothing moves for 20 s.
  virtual Status run(const Load& load) = 0;
  // Polls once, for what the other rank still waits for after this one's run() has ended.
  virtual void progress() {}
};

// `which`: 0 is plait's, 1 the bare loop. Called in both ranks, after the fork.
using Maker = std::function<Result<std::unique_ptr<Contestant>>(int which)>;

struct Options {
  std::vector<size_t> sizes = {8, 64, 1024, 4096, 16384, 65536, 262144, 1 << 20, 4 << 20};
  int rounds = 15;
  double seconds = 0.02;  // a turn, about
  bool pin = true;        // rank i to the i-th processor that this process may use
  // Plait may be so far behind a message below `large`; and so much from there on.
  double small_ns = 300, large_share = 0.05;
  size_t large = 65536;
  // Sizes of bandwidth begin here.
  size_t bandwidth_from = 4096;
};

// `-b BYTES -e BYTES -r ROUNDS -t SECONDS` into `options`; what is none of these into `rest`. Code::invalid
// else.
Status parse(int argc, char** argv, Options& options, std::vector<std::string>& rest);

// Prints a table to stdout. Exit status: 0 when plait is within the limits, 1 when it is not, 2 when it did
// not run.
int duel(const std::string& title, const Maker& make, const Options& options);

}  // namespace plait::perf::fabric
