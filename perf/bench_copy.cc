// How fast memcpy and copy_bytes() copy, by where source and target begin in their pages:
//
//   bench_copy [BYTES]     64 KiB, if none
//
// The kernel copies to and from sockets by the same instruction as memcpy does: a slow line here is as slow
// there.
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>

#include "base/clock.h"
#include "base/copy.h"
#include "base/pages.h"

namespace plait {
namespace {

void plain(void* to, const void* from, size_t bytes) noexcept { std::memcpy(to, from, bytes); }

// GB/s, the median of nine.
template <class F>
double speed(F copy, std::byte* to, const std::byte* from, size_t bytes) {
  std::array<double, 9> seconds{};
  for (double& s : seconds) {
    constexpr int kTimes = 20;
    const int64_t begin = now_ns();
    for (int i = 0; i < kTimes; ++i) {
      copy(to, from, bytes);
      asm volatile("" : : "r"(to) : "memory");
    }
    s = double(now_ns() - begin) / kTimes;
  }
  std::ranges::sort(seconds);
  return double(bytes) / seconds[seconds.size() / 2];
}

int run(size_t bytes) {
  const Mapping a = map_pages(bytes + 2 * kPageBytes), b = map_pages(bytes + 2 * kPageBytes);
  if (a.data() == nullptr || b.data() == nullptr) return 1;
  std::memset(a.data(), 1, a.size());
  std::memset(b.data(), 1, b.size());
  std::printf("%zu bytes, GB/s\nfrom     to   memcpy  copy_bytes\n", bytes);
  constexpr std::array<std::array<size_t, 2>, 12> kPlaces = {{{0, 0},
                                                              {0, 1},
                                                              {0, 4},
                                                              {0, 8},
                                                              {0, 13},
                                                              {0, 15},
                                                              {0, 16},
                                                              {16, 0},
                                                              {4, 0},
                                                              {64, 72},
                                                              {64, 80},
                                                              {0, 2048}}};
  for (const auto& [from, to] : kPlaces) {
    std::printf("%4zu %6zu %8.1f %11.1f\n", from, to, speed(plain, b.data() + to, a.data() + from, bytes),
                speed(copy_bytes, b.data() + to, a.data() + from, bytes));
  }
  return 0;
}

}  // namespace
}  // namespace plait

int main(int argc, char** argv) {
  const long bytes = argc > 1 ? std::atol(argv[1]) : 65536;
  if (argc > 2 || bytes < 1 || bytes > (1L << 30)) {
    std::fprintf(stderr, "bench_copy [BYTES], of 1 to 1 GiB\n");
    return 2;
  }
  return plait::run(size_t(bytes));
}
