// Memory: copy, reduce, each thread by itself; every kernel with ordinary and with non-temporal stores, n a multiple of 256.
#include "machine.h"

#include <functional>
#include <thread>

static void copy512(char* d, const char* s, size_t n) {
  for (size_t i = 0; i < n; i += 256)
    for (int j = 0; j < 256; j += 64) _mm512_store_si512(d + i + j, _mm512_load_si512(s + i + j));
}
static void copynt(char* d, const char* s, size_t n) {
  for (size_t i = 0; i < n; i += 256)
    for (int j = 0; j < 256; j += 64) _mm512_stream_si512((__m512i*)(d + i + j), _mm512_load_si512(s + i + j));
  _mm_sfence();
}
static void copylibc(char* d, const char* s, size_t n) { memcpy(d, s, n); }
static void copyrep(char* d, const char* s, size_t n) { asm volatile("rep movsb" : "+D"(d), "+S"(s), "+c"(n)::"memory"); }
static void addnt(float* c, const float* a, const float* b, size_t n) {
  for (size_t i = 0; i < n; i += 64)
    for (int j = 0; j < 64; j += 16) _mm512_stream_ps(c + i + j, _mm512_add_ps(_mm512_load_ps(a + i + j), _mm512_load_ps(b + i + j)));
  _mm_sfence();
}
__attribute__((noinline)) static float readsum(const float* a, size_t n) {
  __m512 s[4] = {};
  for (size_t i = 0; i < n; i += 64)
    for (int j = 0; j < 4; j++) s[j] = _mm512_add_ps(s[j], _mm512_load_ps(a + i + j * 16));
  return _mm512_reduce_add_ps(_mm512_add_ps(_mm512_add_ps(s[0], s[1]), _mm512_add_ps(s[2], s[3])));
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
        show("copy avx512", p, rate(th, n, [&](int t) { copy512(d[t], s[t], n); }), "GB/s");
        show("copy avx512 nt", p, rate(th, n, [&](int t) { copynt(d[t], s[t], n); }), "GB/s");
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
      show("c=a+b, of S", p, rate(th, n, [&](int t) { add512(c[t], a[t], b[t], n / 4); }), "GB/s");
      show("c=a+b nt, of S", p, rate(th, n, [&](int t) { addnt(c[t], a[t], b[t], n / 4); }), "GB/s");
      show("a+=b, of S", p, rate(th, n, [&](int t) { add512(a[t], a[t], b[t], n / 4); }), "GB/s");
      for (int t = 0; t < th; t++) { munmap(a[t], n); munmap(b[t], n); munmap(c[t], n); }
    }
}
