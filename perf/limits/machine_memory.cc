// Memory: copy, reduce, each thread by itself; every kernel with ordinary and with non-temporal stores, n a multiple of 256.
#include "kernels.h"
#include "machine.h"

#include <functional>
#include <thread>

using limits::Store;
using limits::Wide;

template <Store How>
static void copy(char* d, const char* s, size_t n) {
  limits::copy<How>(reinterpret_cast<float*>(d), reinterpret_cast<const float*>(s), n / sizeof(float));
}
template <Store How>
static void add(float* c, const float* a, const float* b, size_t n) {
  const float* const ins[] = {a, b};
  limits::sum<2, 1, How>(ins, &c, 0, n);
}
static void copylibc(char* d, const char* s, size_t n) { memcpy(d, s, n); }
static void copyrep(char* d, const char* s, size_t n) { asm volatile("rep movsb" : "+D"(d), "+S"(s), "+c"(n)::"memory"); }
__attribute__((noinline)) static float readsum(const float* a, size_t n) {
  Wide sums[4] = {};
  for (size_t i = 0; i < n; i += 4 * limits::kWide)
    for (size_t j = 0; j < 4; j++) sums[j] += limits::load(a + i + j * limits::kWide);
  const Wide all = sums[0] + sums[1] + sums[2] + sums[3];
  float sum = 0;
  for (size_t j = 0; j < limits::kWide; j++) sum += all[j];
  return sum;
}

// Runs f(thread) for ~total bytes on `threads` threads; returns GB/s where one call moves `bytes` (payload).
static std::vector<double> rate(int threads, size_t bytes, const std::function<void(int)>& f, int reps = 9) {
  std::vector<double> out;
  int inner = std::max<size_t>(1, (256u << 20) / bytes);
  for (int r = 0; r < reps; r++) {
    std::atomic<int> ready{0};
    double t0[8], t1[8];
    std::vector<std::thread> th;
    for (int t = 0; t < threads; t++)
      th.emplace_back([&, t] {
        pin(t);
        f(t);
        ready++;
        while (ready < threads) _mm_pause();
        t0[t] = now();
        for (int i = 0; i < inner; i++) f(t);
        t1[t] = now();
      });
    for (auto& x : th) x.join();
    double a = *std::min_element(t0, t0 + threads), b = *std::max_element(t1, t1 + threads);
    out.push_back(double(bytes) * inner * threads / (b - a) * 1e-9);
  }
  return out;
}
void mem() {
  unpin();
  for (size_t ws : {256u << 10, 1u << 20, 16u << 20, 256u << 20})
    for (int th : {1, 2})
      for (bool huge : {false, true}) {
        size_t n = ws / 2;  // source + destination = working set, each thread its own
        char *s[2], *d[2];
        for (int t = 0; t < th; t++) { s[t] = priv(n, huge); d[t] = priv(n, huge); }
        std::string p = "ws=" + sz(ws) + " threads=" + std::to_string(th) + (huge ? " thp" : " 4k");
        show("memcpy(libc)", p, rate(th, n, [&](int t) { copylibc(d[t], s[t], n); }), "GB/s");
        show("copy wide", p, rate(th, n, [&](int t) { copy<Store::cached>(d[t], s[t], n); }), "GB/s");
        show("copy wide nt", p, rate(th, n, [&](int t) { copy<Store::around>(d[t], s[t], n); }), "GB/s");
        show("copy rep movsb", p, rate(th, n, [&](int t) { copyrep(d[t], s[t], n); }), "GB/s");
        show("read", p, rate(th, n, [&](int t) { volatile float x = readsum((float*)s[t], n / 4); (void)x; }), "GB/s");
        for (int t = 0; t < th; t++) { munmap(s[t], n); munmap(d[t], n); }
      }
}
void reduce() {
  unpin();
  for (size_t n : {64u << 10, 256u << 10, 4u << 20, 64u << 20})  // bytes of each of a, b, c
    for (int th : {1, 2}) {
      float *a[2], *b[2], *c[2];
      for (int t = 0; t < th; t++) { a[t] = (float*)priv(n, true); b[t] = (float*)priv(n, true); c[t] = (float*)priv(n, true); }
      std::string p = "S=" + sz(n) + " threads=" + std::to_string(th) + " thp";
      show("c=a+b, of S", p, rate(th, n, [&](int t) { add<Store::cached>(c[t], a[t], b[t], n / 4); }), "GB/s");
      show("c=a+b nt, of S", p, rate(th, n, [&](int t) { add<Store::around>(c[t], a[t], b[t], n / 4); }), "GB/s");
      show("a+=b, of S", p, rate(th, n, [&](int t) { add<Store::cached>(a[t], a[t], b[t], n / 4); }), "GB/s");
      for (int t = 0; t < th; t++) { munmap(a[t], n); munmap(b[t], n); munmap(c[t], n); }
    }
}
