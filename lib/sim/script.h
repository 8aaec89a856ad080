// A program as the simulator holds it: what its steps do to whom, without places. Ranks whose programs differ
// in their peers only, such as those of a ring, share one.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "base/status.h"
#include "collectives/machine/cost.h"
#include "collectives/program.h"

namespace plait::sim {

constexpr uint32_t kNone = UINT32_MAX;

// A message end (all steps joined by kMore) or a local step, in the order of the program.
struct Node {
  uint32_t stream = kNone;  // among the rank's; kNone: it is local
  uint32_t next = kNone;    // the node after it of the same stream
  uint32_t full = 0;        // whole chunks
  uint32_t waits = 0;       // nodes that it waits for, the one before it in its stream among them
  uint32_t folds = 0;    // operands, but the first, that are folded here; a chain's last fold has all of its
  bool partial = false;  // and the last chunk, which is shorter
  bool plain = false;    // a receive that puts its message into its place
  bool copies = false;   // a local copy
  friend bool operator==(const Node&, const Node&) = default;
};

struct Script {
  std::vector<Node> nodes;
  std::vector<uint32_t> follow_begin, followers;  // nodes that wait for node i, streams apart
  uint32_t sends = 0;
  bool buffered = false;  // the program needs credits
  friend bool operator==(const Script&, const Script&) = default;
};

// One end of a stream.
struct Stream {
  int32_t peer = -1;
  uint16_t lane = 0;
  bool sends = false;
  uint32_t messages = 0;
};

// The streams of a rank, those that it receives from first, each kind by peer and lane.
struct Cast {
  std::vector<Stream> streams;
  uint32_t sends_at = 0;  // the first of those that it sends to
};

// How many bytes chunks have, cut into segments inside of each chunk. Unlike Sizes, of steps of many chunks
// too: what is cut is each of them, and a message has its part of all.
struct Cut {
  explicit Cut(const collectives::Sizes& sizes) noexcept;
  double of(const Node& node, uint32_t segment) const noexcept {
    return double(node.full) * part(chunk, segment) + (node.partial ? part(rest, segment) : 0);
  }
  // Chunks of `range` that are whole, and whether the shorter one is among them.
  void count(collectives::Range range, uint32_t& full, bool& partial) const noexcept;

  uint32_t segments = 1;

 private:
  double part(uint64_t all, uint32_t segment) const noexcept;
  uint64_t chunk, rest, segment_bytes;
  uint32_t whole;  // number of the first chunk that is not
};

// All ranks' scripts. Programs come one at a time and are not kept.
class Scripts {
 public:
  // Code::invalid: chains that are not well formed, peers that there are not, dependencies that were not
  // derived.
  Status add(const collectives::Program& program, int32_t ranks, const Cut& cut);

  const Script& of(size_t rank) const noexcept { return *by_rank_[rank]; }
  const Cast& cast(size_t rank) const noexcept { return casts_[rank]; }
  size_t ranks() const noexcept { return by_rank_.size(); }
  size_t distinct() const noexcept { return count_; }
  uint32_t lanes() const noexcept { return lanes_; }

 private:
  Script read(const collectives::Program& program, std::span<const uint32_t> chain_ends, const Cut& cut,
              Cast& cast);
  const Script* keep(Script script);

  std::map<uint64_t, std::vector<std::unique_ptr<const Script>>> kept_;  // by hash
  std::vector<const Script*> by_rank_;
  std::vector<Cast> casts_;
  size_t count_ = 0;
  uint32_t lanes_ = 1;
};

}  // namespace plait::sim
