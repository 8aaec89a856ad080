// A chain of members along which chunks follow each other, each rank passing one on while it receives the
// next.
#pragma once

#include "collectives/builder.h"

namespace plait::collectives {

// From the root along the members, chunk by chunk: (n - 2 + c) (alpha + N/c beta) for c chunks. Every link
// carries N bytes once: the fastest broadcast of large vectors, if chunks are many. Chan, Heimlich,
// Purkayastha and van de Geijn, "Collective communication: theory, practice, and experience", Concurrency and
// Computation 19(13), 2007 (bucket, pipelined).
void pipeline_broadcast(Builder& b, const Group& g, int root, Range range, int lane = 0);

// The same towards the root, each member folding its own value in:
// (n - 2 + c) (alpha + N/c beta + N/c gamma).
void pipeline_reduce(Builder& b, const Group& g, int root, Range range, int lane = 0);

}  // namespace plait::collectives
