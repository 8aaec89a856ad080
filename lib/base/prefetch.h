// Prefetching for a store, which __builtin_prefetch makes a load on processors it is not told of.
#pragma once

namespace plait {

inline void prefetch_for_write(const void* p) noexcept {
#if defined(__x86_64__)
  asm volatile("prefetchw %0" : : "m"(*static_cast<const char*>(p)));
#else
  __builtin_prefetch(p, 1);
#endif
}

}  // namespace plait
