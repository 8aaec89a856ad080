// Memory: copy, reduce; every kernel with ordinary and with non-temporal stores, n a multiple of 256.
#include "limits.h"

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
  // The 2-rank allreduce itself with nothing but loads, stores and one flag barrier at each end: both
  // ranks see both inputs and both outputs (threads stand in for mapped user memory). Each rank takes
  // half: out0[h] = out1[h] = in0[h] + in1[h].
  // `touched`: before each, untimed, each rank rewrites its own buffers, as a training step does; else the two
  // cores keep "their" half of both ranks' buffers in cache and nothing crosses.
  for (bool touch : {true, false})
  for (bool nt : {false, true})
    for (size_t n : {8u << 10, 64u << 10, 256u << 10, 1u << 20, 4u << 20, 16u << 20, 64u << 20, 256u << 20}) {
      char* in[2] = {priv(n, true), priv(n, true)};
      char* out[2] = {priv(n, true), priv(n, true)};
      char *tmp = priv(n, true);
      struct alignas(64) F { std::atomic<unsigned> v{0}; } fl[2];
      for (int mode : {0, 1, 2, 3}) {
        if (mode && nt) continue;
        std::vector<double> v;
        std::thread th[2];
        int reps = std::max<size_t>(15, std::min<size_t>(2000, (1u << 28) / n));
        fl[0].v = fl[1].v = 0;
        for (int t = 0; t < 2; t++)
          th[t] = std::thread([&, t] {
            pin(t);
            unsigned e = 0;
            auto bar = [&] { e++; fl[t].v.store(e, std::memory_order_release); while (fl[!t].v.load(std::memory_order_acquire) < e) _mm_pause(); };
            for (int i = 0; i < reps; i++) {
              if (touch)
                for (size_t k = 0; k < n; k += 64) { in[t][k] = 0; if (mode != 3) out[t][k] = 0; }
              bar();
              double t0 = now();
              size_t h = n / 2, o = t * h;
              bar();
              if (mode == 0) {  // direct access: read both inputs, write both outputs
                const float *x = (float*)(in[0] + o), *y = (float*)(in[1] + o);
                float *p = (float*)(out[0] + o), *q = (float*)(out[1] + o);
                for (size_t k = 0; k < h / 4; k += 16) {
                  __m512 s = _mm512_add_ps(_mm512_load_ps(x + k), _mm512_load_ps(y + k));
                  if (nt) { _mm512_stream_ps(p + k, s); _mm512_stream_ps(q + k, s); } else { _mm512_store_ps(p + k, s); _mm512_store_ps(q + k, s); }
                }
                if (nt) _mm_sfence();
                bar();
              } else if (mode == 1) {  // each reads the peer's whole input and writes its own output
                add512((float*)out[t], (float*)in[0], (float*)in[1], n / 4);
                bar();
              } else if (mode == 3) {  // in place: read both, write both, nothing else is touched
                float *p = (float*)(in[0] + o), *q = (float*)(in[1] + o);
                for (size_t k = 0; k < h / 4; k += 16) {
                  __m512 s = _mm512_add_ps(_mm512_load_ps(p + k), _mm512_load_ps(q + k));
                  _mm512_store_ps(p + k, s);
                  _mm512_store_ps(q + k, s);
                }
                bar();
              } else {  // bounce: private in/out, shared staging; reduce my half from it, gather the other half
                // in 64 KiB pieces: copy the half the peer reduces, barrier, reduce mine to out and tmp, barrier, copy
                size_t c = std::min<size_t>(64 << 10, h);
                for (size_t k = 0; k < h; k += c) {
                  size_t po = (size_t)(!t) * h + k;
                  copy512(tmp + po, in[t] + po, c);
                  bar();
                  add512((float*)(out[t] + o + k), (float*)(in[t] + o + k), (float*)(tmp + o + k), c / 4);
                  copy512(tmp + o + k, out[t] + o + k, c);
                  bar();
                  copy512(out[t] + po, tmp + po, c);
                }
              }
              if (t == 0) v.push_back((now() - t0) * 1e6);
            }
          });
        th[0].join(); th[1].join();
        static const char* name[] = {"allreduce2 ideal direct (r2 w2 halves)", "allreduce2 ideal own-output (r2 w1 whole)", "allreduce2 ideal bounce 64K", "allreduce2 ideal direct in place"};
        std::sort(v.begin(), v.end());
        printf("%s%s%s,S=%s,%.4g,%.4g,%.4g,us\n", name[mode], nt ? " nt" : "", touch ? " touched" : "", sz(n).c_str(), v[v.size() / 2], v[v.size() / 20], v[v.size() * 19 / 20]);
        fflush(stdout);
      }
      for (auto p : {in[0], in[1], out[0], out[1], tmp}) munmap(p, n);
    }
}
