// The loops: fold<Lanes, Op> is one kernel for one instruction set.
#include <algorithm>
#include <cstring>
#include <type_traits>

#include "collectives/reduce/lanes-inl.h"
#include "collectives/reduce/reduce.h"
#include "hwy/cache_control.h"

#if defined(PLAIT_REDUCE_KERNEL_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef PLAIT_REDUCE_KERNEL_INL
#undef PLAIT_REDUCE_KERNEL_INL
#else
#define PLAIT_REDUCE_KERNEL_INL
#endif

HWY_BEFORE_NAMESPACE();
namespace plait::collectives::HWY_NAMESPACE {

constexpr size_t kLine = 64;
constexpr size_t kAheadBytes = 1024;  // how far ahead Store::prefetch asks for lines
constexpr bool kPrefetchPays = !HWY_ARCH_X86 || HWY_TARGET <= HWY_AVX3;  // see Store
constexpr size_t kAlignFromBytes = 4096;  // below, aligning the stores costs more than it gains
constexpr size_t kUnroll = 4;             // vectors an iteration

HWY_INLINE void prefetch_for_write(const std::byte* p) {
#if HWY_ARCH_X86_64 && HWY_TARGET <= HWY_AVX2
  // The builtin would read for sharing: the target's flags do not include prfchw, though every CPU with AVX2
  // takes it.
  asm volatile("prefetchw %0" : : "m"(*reinterpret_cast<const char*>(p)));
#else
  __builtin_prefetch(p, 1);
#endif
}

// The operands. A fixed number of them lives in registers; N = 0: any number, read where they are listed.
template <uint32_t N>
struct Inputs {
  const std::byte* at[N];
  explicit HWY_INLINE Inputs(const Fold& fold) {
    for (uint32_t k = 0; k < N; k++) at[k] = fold.inputs[k];
  }
  HWY_INLINE uint32_t size() const { return N; }
};
template <>
struct Inputs<0> {
  const std::byte* const* at;
  uint32_t count;
  explicit HWY_INLINE Inputs(const Fold& fold) : at(fold.inputs), count(fold.input_count) {}
  HWY_INLINE uint32_t size() const { return count; }
};

// K elements from the byte offset `from`, folded and scaled.
template <class Lanes, class Op, size_t K, uint32_t N>
HWY_INLINE typename Lanes::template Acc<K> folded(const Inputs<N>& in, uint32_t ranks, size_t from) {
  auto acc = Lanes::template load<K>(in.at[0] + from);
  for (uint32_t k = 1; k < in.size(); k++) {
    acc = Lanes::template call<Op>(acc, Lanes::template load<K>(in.at[k] + from));
  }
  return ranks == 0 ? acc : Lanes::template divide<K>(acc, ranks);
}

template <class Lanes, size_t K>
HWY_INLINE void store_all(const typename Lanes::template Acc<K>& acc, const Fold& fold, size_t to) {
  for (uint32_t k = 0; k < fold.output_count; k++) Lanes::template store<K>(acc, fold.outputs[k] + to);
}

// Fewer than 2K elements: the first K and the last K of them, which may overlap; all is read before any is
// written, so that this holds in place too. Inlined down to one element: a chain of comparisons, no calls,
// for the smallest messages.
template <class Lanes, class Op, size_t K, uint32_t N>
HWY_INLINE void fold_few(const Inputs<N>& in, const Fold& fold, uint32_t ranks, size_t count) {
  if constexpr (K > 0) {
    if (count < K) return fold_few<Lanes, Op, K / 2, N>(in, fold, ranks, count);
    const size_t second = (count - K) * sizeof(typename Lanes::Element);
    const auto head = folded<Lanes, Op, K>(in, ranks, 0);
    if (count == K) return store_all<Lanes, K>(head, fold, 0);
    const auto tail = folded<Lanes, Op, K>(in, ranks, second);
    store_all<Lanes, K>(head, fold, 0);
    store_all<Lanes, K>(tail, fold, second);
  }
}

// Fewer elements than a full vector.
template <class Lanes, class Op>
void fold_small(const Fold& fold, uint32_t ranks, size_t count) noexcept {
  if (fold.input_count == 2)
    return fold_few<Lanes, Op, Lanes::kLanes / 2>(Inputs<2>(fold), fold, ranks, count);
  fold_few<Lanes, Op, Lanes::kLanes / 2>(Inputs<0>(fold), fold, ranks, count);
}

// kUnroll full vectors at the byte offset `from`: long enough that the loops over operands and outputs cost
// nothing.
template <class Lanes, class Op, uint32_t N>
HWY_INLINE void fold_tile(const Inputs<N>& in, const Fold& fold, uint32_t ranks, size_t from,
                          bool past_cache) {
  constexpr size_t K = Lanes::kLanes;
  constexpr size_t V = K * sizeof(typename Lanes::Element);
  const std::byte* p = in.at[0] + from;
  auto a = Lanes::template load<K>(p);
  auto b = Lanes::template load<K>(p + V);
  auto c = Lanes::template load<K>(p + 2 * V);
  auto d = Lanes::template load<K>(p + 3 * V);
  for (uint32_t k = 1; k < in.size(); k++) {
    p = in.at[k] + from;
    a = Lanes::template call<Op>(a, Lanes::template load<K>(p));
    b = Lanes::template call<Op>(b, Lanes::template load<K>(p + V));
    c = Lanes::template call<Op>(c, Lanes::template load<K>(p + 2 * V));
    d = Lanes::template call<Op>(d, Lanes::template load<K>(p + 3 * V));
  }
  if (HWY_UNLIKELY(ranks != 0)) {
    a = Lanes::template divide<K>(a, ranks);
    b = Lanes::template divide<K>(b, ranks);
    c = Lanes::template divide<K>(c, ranks);
    d = Lanes::template divide<K>(d, ranks);
  }
  uint32_t k = 0;
  if (!past_cache) {
    // Two outputs at a time, vector by vector: a twentieth faster in the caches than one after the other.
    for (; k + 1 < fold.output_count; k += 2) {
      std::byte* q = fold.outputs[k] + from;
      std::byte* r = fold.outputs[k + 1] + from;
      Lanes::template store<K>(a, q);
      Lanes::template store<K>(a, r);
      Lanes::template store<K>(b, q + V);
      Lanes::template store<K>(b, r + V);
      Lanes::template store<K>(c, q + 2 * V);
      Lanes::template store<K>(c, r + 2 * V);
      Lanes::template store<K>(d, q + 3 * V);
      Lanes::template store<K>(d, r + 3 * V);
    }
  }
  for (; k < fold.output_count; k++) {
    std::byte* q = fold.outputs[k] + from;
    if (past_cache && k >= fold.cached) {
      Lanes::template stream<K>(a, q);
      Lanes::template stream<K>(b, q + V);
      Lanes::template stream<K>(c, q + 2 * V);
      Lanes::template stream<K>(d, q + 3 * V);
    } else {
      Lanes::template store<K>(a, q);
      Lanes::template store<K>(b, q + V);
      Lanes::template store<K>(c, q + 2 * V);
      Lanes::template store<K>(d, q + 3 * V);
    }
  }
}

// Lines of N operands to kOutputs outputs, from the byte offset `at` on; kDown: the last one first. What a
// turn of the loop costs decides how many lines are on their way at once, so it has nothing but them: no
// pointer is read again, as it would be between stores of any type. A line a turn, since more of them mix the
// stores of several: from memory, out of place, two take half as long again.
template <class Lanes, class Op, uint32_t N, uint32_t kOutputs, bool kStream, bool kDown = false>
HWY_INLINE size_t fold_lines(const Inputs<N>& in, const Fold& fold, size_t at, size_t bytes) {
  constexpr size_t K = Lanes::kLanes;
  constexpr size_t V = K * sizeof(typename Lanes::Element);
  constexpr size_t kVectors = V < kLine ? kLine / V : 1;
  using Acc = typename Lanes::template Acc<K>;
  const Inputs<N> from = in;
  std::byte* outputs[kOutputs];
  for (uint32_t k = 0; k < kOutputs; k++) outputs[k] = fold.outputs[k];
  const auto fold_line = [&](size_t line) HWY_ATTR {
    Acc acc[kVectors];
    for (size_t i = 0; i < kVectors; i++) acc[i] = folded<Lanes, Op, K>(from, 0, line + i * V);
    for (size_t i = 0; i < kVectors; i++) {
      for (uint32_t k = 0; k < kOutputs; k++) {
        if constexpr (kStream) {
          Lanes::template stream<K>(acc[i], outputs[k] + line + i * V);
        } else {
          Lanes::template store<K>(acc[i], outputs[k] + line + i * V);
        }
      }
    }
  };
  constexpr size_t kTurn = kVectors * V;
  if constexpr (kDown) {
    const size_t all = bytes > at ? (bytes - at) / kTurn * kTurn : 0;
    for (size_t line = at + all; line > at;) fold_line(line -= kTurn);
    return at + all;
  }
  for (; at + kTurn <= bytes; at += kTurn) fold_line(at);
  return at;
}

// The same for those that are worth their code: two operands, which rings and pairs fold, and sums of four,
// of as many ranks in one memory. Returns `at` for all others.
template <class Lanes, class Op, uint32_t N>
HWY_INLINE size_t fold_plain_lines(const Inputs<N>& in, const Fold& fold, size_t at, size_t bytes) {
  if constexpr (N == 2) {
    if constexpr (std::is_same_v<Op, Sum>) {
      if (fold.down && fold.output_count == 2)
        return fold_lines<Lanes, Op, 2, 2, false, true>(in, fold, at, bytes);
    }
    if (fold.output_count == 1) return fold_lines<Lanes, Op, 2, 1, false>(in, fold, at, bytes);
    if (fold.output_count == 2) return fold_lines<Lanes, Op, 2, 2, false>(in, fold, at, bytes);
  } else if constexpr (std::is_same_v<Op, Sum>) {
    if (fold.input_count != 4) return at;
    const Inputs<4> four(fold);
    if (fold.output_count == 1) return fold_lines<Lanes, Op, 4, 1, false>(four, fold, at, bytes);
    if (fold.output_count == 4) return fold_lines<Lanes, Op, 4, 4, false>(four, fold, at, bytes);
  }
  return at;
}

// Bytes before an output is aligned to `to`, or `to` when it never is, element by element.
HWY_INLINE size_t bytes_to_align(const std::byte* output, size_t element, size_t to) {
  const auto address = reinterpret_cast<uintptr_t>(output);
  return address % element != 0 ? to : (0 - address) % to;
}

// Are all outputs from number `first` on aligned alike?
HWY_INLINE bool alike(const Fold& fold, uint32_t first, size_t to) {
  const auto address = reinterpret_cast<uintptr_t>(fold.outputs[first]);
  size_t differ = 0;
  for (uint32_t k = first + 1; k < fold.output_count; k++)
    differ |= address ^ reinterpret_cast<uintptr_t>(fold.outputs[k]);
  return differ % to == 0;
}

// At least one full vector. The last one is computed before anything is stored and written at the end, so
// that the rest is full vectors, in place too.
template <class Lanes, class Op, uint32_t N>
void fold_many(const Fold& fold, uint32_t ranks) noexcept {
  constexpr size_t K = Lanes::kLanes;
  constexpr size_t E = sizeof(typename Lanes::Element);
  constexpr size_t V = K * E;
  const Inputs<N> in(fold);
  const size_t bytes = fold.count * E;
  const size_t end = bytes - V;
  const auto last = folded<Lanes, Op, K>(in, ranks, end);

  size_t at = 0;
  bool past_cache = fold.store == Store::past_cache && fold.cached < fold.output_count;
  if (past_cache || bytes >= kAlignFromBytes) {
    const uint32_t first = past_cache ? fold.cached : 0;
    const size_t head = bytes_to_align(fold.outputs[first], E, V);
    if (head == V || !alike(fold, first, V)) past_cache = false;
    if (head < V && head > 0) {
      fold_small<Lanes, Op>(fold, ranks, head / E);
      at = head;
    }
  }
  // Nothing past the end: those lines may be another rank's.
  const size_t ahead_end = kPrefetchPays && fold.store == Store::prefetch ? bytes : 0;
  if (ahead_end == 0 && ranks == 0 && !past_cache) at = fold_plain_lines<Lanes, Op, N>(in, fold, at, bytes);
  if constexpr (N == 2 && std::is_same_v<Op, Sum>) {  // for the others it is not worth its code
    if (ranks == 0 && past_cache && fold.cached == 0) {
      if (fold.output_count == 1) at = fold_lines<Lanes, Op, 2, 1, true>(in, fold, at, bytes);
      if (fold.output_count == 2) at = fold_lines<Lanes, Op, 2, 2, true>(in, fold, at, bytes);
    }
  }
  for (size_t line = at; line < std::min(at + kAheadBytes, ahead_end); line += kLine) {
    for (uint32_t k = 0; k < fold.output_count; k++) prefetch_for_write(fold.outputs[k] + line);
  }
  for (; at + kUnroll * V <= bytes; at += kUnroll * V) {
    if (at + kAheadBytes + kUnroll * V <= ahead_end) {
      for (uint32_t k = 0; k < fold.output_count; k++) {
        for (size_t line = 0; line < kUnroll * V; line += kLine) {
          prefetch_for_write(fold.outputs[k] + at + kAheadBytes + line);
        }
      }
    }
    fold_tile<Lanes, Op>(in, fold, ranks, at, past_cache);
  }
  for (; at < end; at += V) store_all<Lanes, K>(folded<Lanes, Op, K>(in, ranks, at), fold, at);
  store_all<Lanes, K>(last, fold, end);
  if (past_cache) hwy::FlushStream();
}

template <class Lanes, class Op>
HWY_INLINE void fold(const Fold& fold, uint32_t ranks) noexcept {
  if (fold.count < Lanes::kLanes) return fold_small<Lanes, Op>(fold, ranks, fold.count);
  if (fold.input_count == 2) return fold_many<Lanes, Op, 2>(fold, ranks);
  fold_many<Lanes, Op, 0>(fold, ranks);
}

// A fold that ignores `ranks`, and one that scales by it.
template <class Lanes, class Op>
void unscaled(const Fold& f) noexcept {
  fold<Lanes, Op>(f, 0);
}
template <class Lanes>
void average(const Fold& f) noexcept {
  fold<Lanes, Sum>(f, f.ranks);
}
// The same where sums that are divided are computed with other lanes than partial ones.
template <class Partial, class Divided>
void average_of(const Fold& f) noexcept {
  if (f.ranks == 0) return fold<Partial, Sum>(f, 0);
  fold<Divided, Sum>(f, f.ranks);
}

// `Arithmetic` for sum and prod, `Averaged` for avg, `Ordered` for min and max.
template <class Arithmetic, class Averaged, class Ordered>
FoldKernel pick(ReduceOp op) noexcept {
  switch (op) {
    case ReduceOp::sum:
      return unscaled<Arithmetic, Sum>;
    case ReduceOp::prod:
      return unscaled<Arithmetic, Prod>;
    case ReduceOp::max:
      return unscaled<Ordered, Max>;
    case ReduceOp::min:
      return unscaled<Ordered, Min>;
    case ReduceOp::avg:
      return average<Averaged>;
  }
  return nullptr;
}

}  // namespace plait::collectives::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
