#include "collectives/entry.h"

#include <utility>

namespace plait::collectives {

namespace {

Step entry(uint32_t chunk, Place dst) {
  return {.op = Op::copy,
          .flags = kEnter,
          .dst = dst,
          .src = place(Buffer::input, chunk),
          .chunk = chunk,
          .count = 1};
}

}  // namespace

Result<Program> entered(Program p) {
  const uint32_t base = p.scratch;
  std::vector<bool> used(p.chunks);
  auto redirect = [&](Place& from, uint32_t count) {
    if (from.in() != Buffer::input) return;
    for (uint32_t k = 0; k < count; k++) used[from.slot + k] = true;
    from = place(Buffer::scratch, base + from.slot);
  };
  for (Step& s : p.steps) {
    redirect(s.src, s.count);
    redirect(s.src2, s.count);
  }
  p.scratch += p.chunks;
  std::vector<Step> steps;
  // A rank alone and in place has nothing to do but this.
  const bool alone = p.steps.empty() && p.in_place;
  for (uint32_t c = 0; c < p.chunks; c++) {
    if (used[c]) steps.push_back(entry(c, place(Buffer::scratch, base + c)));
    if (alone) steps.push_back(entry(c, place(Buffer::output, c)));
  }
  steps.insert(steps.end(), p.steps.begin(), p.steps.end());
  p.steps = std::move(steps);
  if (std::string error = derive_dependencies(p); !error.empty())
    return Status(Code::internal, std::move(error));
  return p;
}

}  // namespace plait::collectives
