// What a collective does to a known pattern, checked to the last element. Part of bench.h.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>

namespace bench {

inline float pattern(int rank, size_t i) { return float(int((i * 7 + rank * 13) % 31) - 15); }

// A sequence that repeats itself as pattern() does, for so long that it is copied and compared in pieces: checks take less than what
// they check.
class Repeating {
 public:
  static constexpr size_t kPeriod = 31, kPiece = kPeriod * 64;

  template <class Of>
  explicit Repeating(Of of) {
    for (size_t k = 0; k < kPeriod; k++) piece_[k] = of(k);
    for (size_t k = kPeriod; k < kPiece; k++) piece_[k] = piece_[k - kPeriod];
  }
  float at(size_t k) const { return piece_[k % kPeriod]; }
  // x[k] = at(first + k)
  void fill(float* x, size_t n, size_t first = 0) const {
    each_piece(n, first, [&](size_t k, size_t from, size_t many) {
      memcpy(x + k, piece_ + from, sizeof(float) * many);
      return false;
    });
  }
  // The first k whose x[k] is not at(first + k); n: none.
  size_t differs(const float* x, size_t n, size_t first = 0) const {
    size_t found = n;
    each_piece(n, first, [&](size_t k, size_t from, size_t many) {
      bool bad = false;
      for (size_t j = 0; j < many; j++) bad |= x[k + j] != piece_[from + j];
      for (size_t j = 0; bad && found == n; j++) {
        if (x[k + j] != piece_[from + j]) found = k + j;
      }
      return bad;
    });
    return found;
  }

 private:
  // do_it(k, from, many): `many` elements from k on are those of the piece from `from` on. Until it is true.
  template <class DoIt>
  static void each_piece(size_t n, size_t first, DoIt do_it) {
    for (size_t k = 0, many; k < n; k += many) {
      const size_t from = (first + k) % kPeriod;
      many = std::min(n - k, kPiece - from);
      if (do_it(k, from, many)) return;
    }
  }

  float piece_[kPiece];
};

// Runs the collective, or a window of w messages, once on a known pattern and checks every element.
inline bool verify(Ops& o, const std::string& c, float* in, float* out, size_t n, uint64_t i, int w = 1) {
  int r = o.rank(), N = o.size();
  size_t tot = (c == "allgather" || c == "reduce_scatter" || c == "alltoall") ? n * N : n;
  if (c == "sendbw") tot = n * w;
  size_t nin = c == "allgather" ? n : tot, nout = c == "reduce_scatter" ? n : tot;
  int root = i % N;
  const auto of_rank = [](int q) { return Repeating([q](size_t k) { return pattern(q, k); }); };
  const Repeating mine = of_rank(r);
  mine.fill(in, nin);
  if (c == "allreduce_inplace" || (c == "broadcast" && r == root)) mine.fill(out, nout);
  else std::fill(out, out + nout, -99.0f);
  once(o, kind_of(c), in, out, n, uint32_t(i), w, uint32_t(N));
  if (c == "barrier") return true;
  if ((c == "pingpong" && r > 1) || (c == "sendbw" && r != 1)) return true;
  // out[at..at+many) is to be `want` from `first` on.
  const auto good = [&](const Repeating& want, size_t at, size_t many, size_t first) {
    const size_t k = want.differs(out + at, many, first);
    if (k == many) return true;
    fprintf(stderr, "%s: wrong %s rank %d of %d, element %zu of %zu: %g, want %g\n", env("BENCH_IMPL", "?").c_str(),
            c.c_str(), r, N, at + k, nout, out[at + k], want.at(first + k));
    return false;
  };
  if (c == "allgather" || c == "alltoall") {
    bool all = true;
    for (int q = 0; q < N; q++) all = all && good(of_rank(q), size_t(q) * n, n, c == "alltoall" ? r * n : 0);
    return all;
  }
  if (c == "broadcast") return good(of_rank(root), 0, nout, 0);
  if (c == "pingpong" || c == "sendbw") return good(of_rank(1 - r), 0, nout, 0);
  const Repeating sum([N](size_t k) { float s = 0; for (int q = 0; q < N; q++) s += pattern(q, k); return s; });
  return good(sum, 0, nout, c == "reduce_scatter" ? r * n : 0);
}

}  // namespace bench
