// Types and operators end to end: float8, averages that must not overflow, premultiplied sums.
#include "runtime/operators.h"

namespace plait::test {
namespace {

using collectives::reference::bfloat;
using collectives::reference::e4m3;
using collectives::reference::e5m2;
using collectives::reference::half;

// ---- float8

template <class T>
std::string float8(Call c, plait_dtype dtype) {
  c.dtype = dtype;
  return each_algorithm(c, [&](const Call& one, const Algorithm&) -> std::string {
    // Small enough to be exact whatever the order.
    auto value = [&](int r, size_t i) { return double((i + size_t(r)) % 3 == 0) * (i % 2 == 0 ? 1 : -1); };
    for (plait_op op : {PLAIT_SUM, PLAIT_PROD, PLAIT_MAX, PLAIT_MIN}) {
      auto result = [&](size_t i) {
        double all = value(0, i);
        for (int r = 1; r < c.size; r++) {
          const double v = value(r, i);
          all = op == PLAIT_SUM    ? all + v
                : op == PLAIT_PROD ? all * v
                : op == PLAIT_MAX  ? collectives::reference::greatest(all, v)
                                   : collectives::reference::least(all, v);
        }
        return of<T>(all);
      };
      Call with = one;
      with.op = op;
      for (size_t count : kCounts) {
        if (count == kCounts[2] && op != PLAIT_SUM) continue;  // operators do not part vectors otherwise
        std::string words = run<T>(
            with, count, [&](int r, size_t i) { return of<T>(value(r, i)); }, result);
        if (!words.empty()) return "op " + std::to_string(op) + ": " + words;
      }
    }
    return {};
  });
}

class Operators : public testing::TestWithParam<int> {};

TEST_P(Operators, Float8) {
  on_ranks(GetParam(), [](const Call& c) {
    std::string words = float8<e4m3>(c, PLAIT_FLOAT8_E4M3);
    return words.empty() ? float8<e5m2>(c, PLAIT_FLOAT8_E5M2) : words;
  });
}

// ---- averages

// Each rank gives `value`, of which the average is `value`; by algorithms that round on the way within `ulps`
// of it.
template <class T>
std::string averages(Call c, plait_dtype dtype, double value, int ulps = 0) {
  c.dtype = dtype;
  c.op = PLAIT_AVG;
  return each_algorithm(c, [&](const Call& one, const Algorithm& algorithm) -> std::string {
    for (size_t count : kCounts) {
      auto give = [&](int, size_t i) { return of<T>(i % 2 == 0 ? value : -value); };
      auto close = [&](T got, T wanted) {
        return std::abs(int(got.bits) - int(wanted.bits)) <= (algorithm.deterministic ? 0 : ulps);
      };
      std::string words = run<T>(
          one, count, give, [&](size_t i) { return give(0, i); }, close);
      if (!words.empty()) return words;
    }
    return {};
  });
}

TEST_P(Operators, AveragesDoNotOverflow) {
  on_ranks(GetParam(), [](const Call& c) {
    std::string words = averages<half>(c, PLAIT_FLOAT16, 60000, c.size / 2);
    // Numbers of few digits: every partial sum is exact.
    if (words.empty()) words = averages<half>(c, PLAIT_FLOAT16, 61440);
    if (words.empty()) words = averages<bfloat>(c, PLAIT_BFLOAT16, 0x1.8p127);
    if (words.empty()) words = averages<e5m2>(c, PLAIT_FLOAT8_E5M2, 32768);
    if (words.empty()) words = averages<e4m3>(c, PLAIT_FLOAT8_E4M3, 256);
    return words;
  });
}

// The sum wraps, then it is divided.
TEST(Averages, OfIntegersWrapFirst) {
  on_ranks(4, [](Call c) {
    c.dtype = PLAIT_INT8;
    c.op = PLAIT_AVG;
    return each_algorithm(c, [](const Call& one, const Algorithm&) {
      return run<int8_t>(
          one, 300, [](int, size_t) { return int8_t(100); },
          [](size_t) { return int8_t(int8_t(400 - 512) / 4); });
    });
  });
}

// ---- premultiplied sums

template <class T>
struct Premultiplied {
  plait_dtype dtype;
  double factor(int rank) const { return double(1 + rank % 3); }
  double value(int rank, size_t i) const { return double((i + size_t(rank)) % (sizeof(T) == 1 ? 2 : 5)); }

  std::string run_all(Call c) const {
    plait_op_desc desc{};
    desc.struct_size = sizeof desc;
    const T factor_ = of<T>(factor(c.rank));
    desc.scaling = &factor_;
    desc.dtype = c.dtype = dtype;
    if (plait_op_create(&desc, &c.op) != PLAIT_OK) return plait_last_error(nullptr);
    std::string words = each_algorithm(c, [&](const Call& one, const Algorithm&) -> std::string {
      for (size_t count : {size_t(1), size_t(300), sizeof(T) == 4 ? size_t(150'001) : size_t(5000)}) {
        if (std::string w = run_one(one, count); !w.empty()) return w;
      }
      return {};
    });
    if (plait_op_free(c.op) != PLAIT_OK) words += plait_last_error(nullptr);
    return words;
  }

  std::string run_one(const Call& c, size_t count) const {
    return run<T>(
        c, count, [&](int r, size_t i) { return of<T>(value(r, i)); },
        [&](size_t i) {
          double sum = 0;
          for (int r = 0; r < c.size; r++) sum += factor(r) * value(r, i);
          return of<T>(sum);
        });
  }
};

TEST_P(Operators, PremultipliedSums) {
  on_ranks(GetParam(), [](const Call& c) {
    std::string words = Premultiplied<float>{PLAIT_FLOAT32}.run_all(c);
    if (words.empty()) words = Premultiplied<half>{PLAIT_FLOAT16}.run_all(c);
    if (words.empty()) words = Premultiplied<bfloat>{PLAIT_BFLOAT16}.run_all(c);
    if (words.empty()) words = Premultiplied<e4m3>{PLAIT_FLOAT8_E4M3}.run_all(c);
    if (words.empty()) words = Premultiplied<int8_t>{PLAIT_INT8}.run_all(c);
    if (words.empty()) words = Premultiplied<uint64_t>{PLAIT_UINT64}.run_all(c);
    return words;
  });
}

INSTANTIATE_TEST_SUITE_P(Ranks, Operators, testing::Values(1, 2, 3, 5, 8));

}  // namespace
}  // namespace plait::test
