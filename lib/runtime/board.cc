#include "runtime/board.h"

#include <algorithm>
#include <cstdio>

#include "runtime/codecs.h"
#include "runtime/names.h"

namespace plait::runtime {

bool Board::read(uint64_t call_number, CallId* call) const noexcept {
  const CallRecord& r = records[call_number % kRecords];
  if (r.number.load(std::memory_order_acquire) != call_number) return false;
  uint64_t words[kCallWords];
  for (size_t i = 0; i < kCallWords; i++) words[i] = r.call[i].load(std::memory_order_relaxed);
  CallId c;
  std::memcpy(&c, words, sizeof c);
  const uint64_t sum = r.sum.load(std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_acquire);
  if (r.number.load(std::memory_order_relaxed) != call_number || sum != sum_of(call_number, c)) return false;
  *call = c;
  return true;
}

uint64_t Board::latest() const noexcept {
  uint64_t latest = 0;
  for (const CallRecord& r : records) latest = std::max(latest, r.number.load(std::memory_order_acquire));
  return latest;
}

namespace {

std::string describe_counts(const CallId& c) {
  if (c.counts == 0) return "count=" + std::to_string(c.count);
  const std::string counts = std::to_string(c.counts) + " counts";
  if (c.counts_hash == 0) return counts;
  char hash[16];
  std::snprintf(hash, sizeof hash, " #%08x", c.counts_hash);
  return counts + hash + ", " + std::to_string(c.count) + " elements";
}

}  // namespace

std::string_view maker_name(uint32_t kind) noexcept {
  return kind == kSplitCall ? "comm_split" : kind == kDupCall ? "comm_dup" : "";
}

std::string_view algorithm_name(const CallId& call, const collectives::Methods& methods) noexcept {
  return call.algorithm > 0 && call.algorithm <= methods.size() ? methods[call.algorithm - 1].name : "";
}

// The fields may come from a peer's memory: nothing is used as an index unchecked.
std::string describe(const CallId& c, const collectives::Methods& methods) {
  using collectives::Collective;
  if (const auto maker = maker_name(c.kind); !maker.empty()) return std::string(maker);
  if (c.kind >= collectives::kCollectives) return "an unknown call";
  const auto kind = Collective(c.kind);
  std::string text(call_name(kind, c.counts > 0));
  if (kind != Collective::barrier) {
    text += "(" + describe_counts(c) + ", " + std::string(dtype_name(c.dtype));
    if (collectives::reduces(kind)) text += ", " + std::string(op_name(c.op));
    if (collectives::rooted(kind)) text += ", root=" + std::to_string(c.root);
    text += c.in_place != 0 ? ", in place)" : ")";
  }
  if (const auto name = algorithm_name(c, methods); !name.empty()) text += " by " + std::string(name);
  if (c.codec != 0) text += ", encoded by " + codec_name(c.codec);
  return text;
}

}  // namespace plait::runtime
