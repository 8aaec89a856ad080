#include "runtime/board.h"

#include <algorithm>

#include "collectives/algorithms.h"
#include "runtime/names.h"

namespace plait::runtime {

bool Board::read(uint64_t call_number, CallId* call) const noexcept {
  const CallRecord& r = records[call_number % kRecords];
  if (r.number.load(std::memory_order_acquire) != call_number) return false;
  CallId c;
  c.count = r.count.load(std::memory_order_relaxed);
  c.kind = r.kind.load(std::memory_order_relaxed);
  c.dtype = r.dtype.load(std::memory_order_relaxed);
  c.op = r.op.load(std::memory_order_relaxed);
  c.root = r.root.load(std::memory_order_relaxed);
  c.algorithm = r.algorithm.load(std::memory_order_relaxed);
  c.in_place = r.in_place.load(std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_acquire);
  if (r.number.load(std::memory_order_relaxed) != call_number) return false;
  *call = c;
  return true;
}

uint64_t Board::latest() const noexcept {
  uint64_t latest = 0;
  for (const CallRecord& r : records) latest = std::max(latest, r.number.load(std::memory_order_acquire));
  return latest;
}

// The fields may come from a peer's memory: nothing is used as an index unchecked.
std::string describe(const CallId& c) {
  using collectives::Collective;
  if (c.kind > uint32_t(Collective::barrier)) return "an unknown call";
  const auto kind = Collective(c.kind);
  std::string text(collectives::name_of(kind));
  if (kind != Collective::barrier) {
    text += "(count=" + std::to_string(c.count) + ", " + std::string(dtype_name(c.dtype));
    if (collectives::reduces(kind)) text += ", " + std::string(op_name(c.op));
    if (kind == Collective::broadcast) text += ", root=" + std::to_string(c.root);
    text += c.in_place != 0 ? ", in place)" : ")";
  }
  const auto table = collectives::algorithms();
  if (c.algorithm > 0 && c.algorithm <= table.size())
    text += " by " + std::string(table[c.algorithm - 1].name);
  return text;
}

}  // namespace plait::runtime
