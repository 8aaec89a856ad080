// copy_by_vectors(), copy_twice() and the copies past the cache for the instruction sets of the kernels.
#include <algorithm>
#include <cstdint>
#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "base/copy_kernel.cc"
#include "base/simd_targets.h"
#include "hwy/foreach_target.h"
//
#include "hwy/cache_control.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace plait::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Wider vectors gain nothing where lines of other cores are stored to, and cost some processors clock.
using Bytes = hn::CappedTag<uint8_t, 32>;

HWY_INLINE void copy_one(uint8_t* to, const uint8_t* from) {
  const Bytes d;
  hn::StoreU(hn::LoadU(d, from), d, to);
}

// Four vectors a turn, aligned in the target; the first and the last bytes as vectors that are not.
void copy_by_vectors_here(void* target, const void* source, size_t bytes) {
  constexpr Bytes d;
  constexpr size_t kVector = hn::MaxLanes(d), kTurn = 4 * kVector;
  auto* to = static_cast<uint8_t*>(target);
  const auto* from = static_cast<const uint8_t*>(source);
  copy_one(to, from);
  copy_one(to + bytes - kVector, from + bytes - kVector);
  size_t at = kVector - reinterpret_cast<uintptr_t>(to) % kVector;
  for (; at + kTurn <= bytes; at += kTurn) {
    const auto a = hn::LoadU(d, from + at), b = hn::LoadU(d, from + at + kVector),
               c = hn::LoadU(d, from + at + 2 * kVector), e = hn::LoadU(d, from + at + 3 * kVector);
    hn::Store(a, d, to + at);
    hn::Store(b, d, to + at + kVector);
    hn::Store(c, d, to + at + 2 * kVector);
    hn::Store(e, d, to + at + 3 * kVector);
  }
  for (; at + kVector <= bytes; at += kVector) copy_one(to + at, from + at);
}

// Two vectors a turn, aligned in the first target.
void copy_twice_here(void* target, void* second, const void* source, size_t bytes) {
  constexpr Bytes d;
  constexpr size_t kVector = hn::MaxLanes(d), kTurn = 2 * kVector;
  auto *to = static_cast<uint8_t*>(target), *also = static_cast<uint8_t*>(second);
  const auto* from = static_cast<const uint8_t*>(source);
  const auto copy_few = [&](size_t at, size_t count) {
    std::memcpy(to + at, from + at, count);
    std::memcpy(also + at, from + at, count);
  };
  size_t at = std::min(bytes, -reinterpret_cast<uintptr_t>(to) % kVector);
  copy_few(0, at);
  for (; at + kTurn <= bytes; at += kTurn) {
    const auto a = hn::LoadU(d, from + at), b = hn::LoadU(d, from + at + kVector);
    hn::Store(a, d, to + at);
    hn::Store(b, d, to + at + kVector);
    hn::StoreU(a, d, also + at);
    hn::StoreU(b, d, also + at + kVector);
  }
  copy_few(at, bytes - at);
}

constexpr size_t kLine = 64;

// A line from `from` past the cache, by the widest vectors: what is stored as a whole is not fetched before.
// And to `also`, unless that is null.
HWY_INLINE void stream_line(uint8_t* to, uint8_t* also, const uint8_t* from) {
  const hn::CappedTag<uint8_t, kLine> d;
  for (size_t i = 0; i < kLine; i += hn::MaxLanes(d)) {
    const auto v = hn::LoadU(d, from + i);
    hn::Stream(v, d, to + i);
    if (also != nullptr) hn::StoreU(v, d, also + i);
  }
}

// `second`: null, or a place that is not past the cache.
void copy_past_cache_here(void* target, void* second, const void* source, size_t bytes) {
  auto *to = static_cast<uint8_t*>(target), *also = static_cast<uint8_t*>(second);
  const auto* from = static_cast<const uint8_t*>(source);
  const auto copy_few = [&](size_t at, size_t count) {
    std::memcpy(to + at, from + at, count);
    if (also != nullptr) std::memcpy(also + at, from + at, count);
  };
  size_t at = std::min(bytes, -reinterpret_cast<uintptr_t>(to) % kLine);
  copy_few(0, at);
  for (; at + kLine <= bytes; at += kLine)
    stream_line(to + at, also == nullptr ? nullptr : also + at, from + at);
  copy_few(at, bytes - at);
}

}  // namespace plait::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "base/copy.h"

namespace plait {

HWY_EXPORT(copy_by_vectors_here);
HWY_EXPORT(copy_twice_here);
HWY_EXPORT(copy_past_cache_here);

void copy_by_vectors(void* to, const void* from, size_t bytes) noexcept {
  HWY_DYNAMIC_DISPATCH(copy_by_vectors_here)(to, from, bytes);
}

void copy_twice(void* to, void* also, const void* from, size_t bytes) noexcept {
  if (is_for_string(bytes)) {
    copy_by_string(to, from, bytes);
    copy_by_string(also, from, bytes);
    return;
  }
  HWY_DYNAMIC_DISPATCH(copy_twice_here)(to, also, from, bytes);
}

void copy_past_cache(void* to, const void* from, size_t bytes) noexcept {
  HWY_DYNAMIC_DISPATCH(copy_past_cache_here)(to, nullptr, from, bytes);
}

void copy_also_past_cache(void* to, void* also, const void* from, size_t bytes) noexcept {
  if (is_for_string(bytes)) return copy_twice(to, also, from, bytes);
  HWY_DYNAMIC_DISPATCH(copy_past_cache_here)(also, to, from, bytes);
}

void end_past_cache() noexcept { hwy::FlushStream(); }

}  // namespace plait
#endif
