#include "collectives/algorithm/pipeline.h"

#include <algorithm>

#include "collectives/algorithm/rows.h"

namespace plait::collectives {

void pipeline_broadcast(Builder& b, const Group& g, int root, Range range, int lane) {
  int hops = mod(g.me - root, g.n());  // from the root
  for (uint32_t c = range.first; c < range.end(); c++) {
    if (hops > 0) b.recv(g.at(g.me - 1), {c, 1}, lane);
    if (hops < g.n() - 1) b.send(g.at(g.me + 1), {c, 1}, lane);
  }
}

void pipeline_reduce(Builder& b, const Group& g, int root, Range range, int lane) {
  int hops = mod(g.me - root, g.n());
  for (uint32_t c = range.first; c < range.end(); c++) {
    if (hops < g.n() - 1) b.recv_reduce(g.at(g.me + 1), {c, 1}, lane, hops == 0 ? kLast : 0);
    if (hops > 0) b.send(g.at(g.me - 1), {c, 1}, lane);
  }
}

namespace {

// Enough to keep a chain busy; large ones also run in segments, so more would only cost starts.
uint32_t pieces(int n) { return uint32_t(std::clamp(n - 1, 1, 16)); }

constexpr Algorithm kPipelineRows[] = {
    {.name = "pipeline",
     .collective = Collective::broadcast,
     .min_credits = {0, 0},
     .rank_order = true,
     .accepts = rows::any_number,
     .chunks = pieces,
     .append = [](Builder& b, const Group& g, int root,
                  const Blocks& v) { pipeline_broadcast(b, g, root, v.all()); },
     .summary = "chunks follow each other along a chain; for large messages"},
    {.name = "pipeline",
     .collective = Collective::reduce,
     .min_credits = {0, 0},
     .rank_order = false,
     .accepts = rows::any_number,
     .chunks = pieces,
     .append = [](Builder& b, const Group& g, int root,
                  const Blocks& v) { pipeline_reduce(b, g, root, v.all()); },
     .summary = "chunks follow each other along a chain, folded on the way; for large messages"},
};

}  // namespace

Rows pipeline_rows() noexcept { return kPipelineRows; }

}  // namespace plait::collectives
