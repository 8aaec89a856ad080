// The cost machine: when does what happen, if the programs of all ranks run in a described room? A
// discrete-event simulation in the manner of LogGOPSim (Hoefler, Schneider, Lumsdaine 2010): of messages, not
// of bytes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/status.h"
#include "collectives/machine/room.h"
#include "collectives/program.h"

namespace plait::collectives {

// How many bytes the chunks of a vector have: `chunk` each, the last ones less where `all` is used up, cut
// into segments of `segment` inside of each (rule 1).
struct Sizes {
  uint64_t all = 0, chunk = 0;
  uint32_t segments = 1;
  uint64_t segment = UINT64_MAX;

  uint64_t of(uint32_t first, uint32_t count, uint32_t s) const noexcept {
    const uint64_t from = std::min(first * chunk, all), to = std::min((uint64_t{first} + count) * chunk, all);
    if (segments == 1) return to - from;
    const uint64_t begin = std::min(s * segment, to - from);
    return std::min(segment, to - from - begin);
  }
};

// `all` bytes evenly in so many chunks, and these in segments of at most `segment` bytes; as the real machine
// cuts, but for its rounding to cache lines.
Sizes even_sizes(uint64_t all, uint32_t chunks, uint64_t segment = UINT64_MAX) noexcept;

struct Span {  // in seconds from the call on, which all ranks make at once
  double begin = 0, end = 0;
};

struct Cost {
  double seconds = 0;          // until the last rank has finished
  std::vector<double> finish;  // of each rank
  uint64_t messages = 0;       // of all segments

  // Where a timeline was asked for: when step `step` of a rank ran, in one segment of the vector. A send ends
  // when its source is free; the steps of one message have its times.
  Span at(int32_t rank, uint32_t step, uint32_t segment = 0) const noexcept {
    return spans[(size_t(segment) * steps) + first_step[size_t(rank)] + step];
  }
  std::vector<Span> spans;           // of each segment, rank and step
  std::vector<uint32_t> first_step;  // of each rank, among the `steps` of a segment
  size_t steps = 0;
};

// More are refused: simulating them takes minutes and gigabytes (some 150 bytes each).
constexpr uint64_t kMostMessages = 100'000'000;

// Runs `programs`, those of ranks 0..n-1 of one call, which have been proved or come from the table. The
// layout says how many bytes chunks have and into how many segments they are cut. Needs O(messages *
// log(messages)) time. Any thread; the result is the same on every machine. Code::unsupported: too many
// messages. Code::invalid: the room is not sound, or the programs do not fit it, do not match, or wait for
// each other for ever.
Result<Cost> cost(std::span<const Program> programs, const Sizes& sizes, const Room& room,
                  bool timeline = false);

// The same for programs that are yet to be built: the absurd is refused before they are (rule 13).
using ProgramBuilder = std::function<Program(int32_t rank)>;
Result<Cost> cost(const ProgramBuilder& program_of, const Sizes& sizes, const Room& room,
                  bool timeline = false);

}  // namespace plait::collectives
