// One call of a collective on all ranks: how its parts are cut and laid, what each rank puts in and must get.
// A pure function of the job, so each rank knows all of it.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "collectives/plan.h"
#include "rig.h"

namespace plait::collectives::real::test {

struct Job {
  const Algorithm* algorithm = nullptr;  // a row of the table ...
  const Method* added = nullptr;         // ... or, instead, what was added to it
  int ranks = 1, root = 0;
  bool in_place = false;  // rooted: the root's buffers are, others have one only
  uint64_t count = 0;     // even: elements, where each rank has a part of that; uneven: of a part at most
  bool uneven = false;
  bool apart = false;  // chunk by chunk, though it might be joined
  size_t segment_bytes = kSegmentBytes;
  uint64_t seed = 0;                    // of uneven parts
  const codec::Codec* codec = nullptr;  // that encodes its messages
  FoldKernel fold = nullptr;            // a sum that does more than the library's
  Store store = Store::plain;           // out of place

  Collective collective() const { return added != nullptr ? added->collective : algorithm->collective; }
  std::string_view name() const { return added != nullptr ? added->name : algorithm->name; }
  uint32_t chunks() const { return added != nullptr ? added->chunks : algorithm->chunks(ranks); }
  std::string describe() const;
};

// A random one that the algorithm accepts and the machine runs.
Job random_job(std::mt19937_64& random, const Algorithm& algorithm, int ranks);
Job random_job(std::mt19937_64& random, const Method& added);

// Does plait run it with parts whose lengths only their two ends know, where those are all that is known?
bool fits_uneven(Collective collective, std::string_view algorithm);

// What a rank sees of a job.
class View {
 public:
  View(const Job& job, int rank);
  // The call's layout, which points into this view.
  Layout layout() const;
  bool in_place() const noexcept { return in_place_; }
  // What lies in the buffers before and after; in place there is but one, the second. Gaps hold -1.
  void input_before(std::vector<float>& image) const { this->image(false, false, image); }
  void output_before(std::vector<float>& image) const { this->image(true, false, image); }
  void output_after(std::vector<float>& image) const { this->image(true, true, image); }
  // To make a call that differs from those of the others.
  std::vector<Part>& inputs() noexcept { return parts_[0]; }
  std::vector<Part>& outputs() noexcept { return parts_[1]; }

 private:
  uint64_t length(int rank, uint32_t chunk) const;
  uint32_t slot(Buffer buffer, uint32_t chunk) const;
  float after(uint32_t chunk, uint64_t i) const;
  void lay_evenly();
  void lay_unevenly();
  void image(bool output, bool after, std::vector<float>& image) const;

  Job job_;
  int rank_;
  bool in_place_;
  uint32_t chunks_;
  Range mine_[2];  // chunks in the input, in the output
  Layout even_;
  std::vector<Part> parts_[2];
  std::vector<uint64_t> lengths_;
};

// Runs the job on this rank and checks every element.
Status run_job(const Job& job, int rank, Rank& r);
// Runs it as `view` sees it, and checks nothing.
Status call_job(const Job& job, const View& view, int rank, Rank& r);

}  // namespace plait::collectives::real::test
