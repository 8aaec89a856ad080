// The loop over epochs and steps, which is the same on every rank, and what came of it.
#pragma once

#include <cstddef>
#include <vector>

#include "mlp/data.h"
#include "mlp/job.h"
#include "mlp/options.h"

namespace mlp {

struct Epoch {
  double loss = 0;      // mean over the epoch's images, before each step
  double accuracy = 0;  // on the test images, after it
  double seconds = 0;   // of its steps
  double waited = 0;    // of these, for gradients of other ranks
};

struct Result {
  size_t parameters = 0, steps = 0;
  std::vector<Epoch> epochs;
  plait_codec_stats codec = {};  // what it did on this rank
};

// Rank 0 prints a line for each epoch.
Result train(Job& job, const Data& data, const Options& options);

}  // namespace mlp
