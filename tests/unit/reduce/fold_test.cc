// Every kernel against the reference: types, operators, numbers of operands and outputs, lengths around every
// vector size, ways to store, bad alignment, in place.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <limits>
#include <random>

#include "reference.h"
#include "targets_test.h"

namespace plait::collectives {
namespace {

using reference::bfloat;
using reference::e4m3;
using reference::e5m2;
using reference::half;

constexpr size_t kCounts[] = {0, 1, 2, 3, 7, 15, 16, 17, 31, 33, 63, 64, 65, 1000, 4099};
constexpr size_t kGuard = 128;

// Values that matter to the type, and ordinary ones.
template <class T>
class Values {
 public:
  T next() {
    const auto r = random_();
    if constexpr (reference::kNarrow<T>) {
      // Any bits at times; mostly numbers near one, whose sums need rounding.
      if (r % 16 == 0) return {static_cast<decltype(T::bits)>(r >> 16)};
      const float v = (static_cast<float>((r >> 8) & 0xFFFF) - 32768.0f) / 9973.0f;
      return reference::narrow<T>(v);
    } else if constexpr (std::is_floating_point_v<T>) {
      using L = std::numeric_limits<T>;
      constexpr T kSpecial[] = {T(0),           -T(0),    L::infinity(),   -L::infinity(),
                                L::quiet_NaN(), L::max(), L::denorm_min(), -L::min()};
      if (r % 16 == 0) return kSpecial[(r >> 8) % std::size(kSpecial)];
      return (static_cast<T>((r >> 8) & 0xFFFFFF) - T(8388608)) / T(1000003);
    } else {
      using L = std::numeric_limits<T>;
      if (r % 16 == 0) return (r & 256) != 0 ? L::min() : L::max();
      return static_cast<T>(r >> 8);
    }
  }

 private:
  std::mt19937_64 random_{42};
};

// A buffer `offset` bytes off alignment with guard bytes around it, so that stray stores are seen.
template <class T>
class Padded {
 public:
  Padded(size_t count, size_t offset)
      : size_(count * sizeof(T)), bytes_(size_ + offset + 2 * kGuard + 64, kFill) {
    const size_t misaligned = reinterpret_cast<uintptr_t>(bytes_.data()) % 64;
    start_ = kGuard + 64 - misaligned + offset;
  }
  std::byte* data() { return bytes_.data() + start_; }
  void set(const std::vector<T>& v) {
    if (!v.empty()) std::memcpy(data(), v.data(), v.size() * sizeof(T));
  }
  T at(size_t i) {
    T v;
    std::memcpy(&v, data() + i * sizeof(T), sizeof v);
    return v;
  }
  bool guards_intact() {
    const auto filled = [](auto from, auto to) {
      return std::all_of(from, to, [](std::byte b) { return b == kFill; });
    };
    const auto begin = bytes_.begin() + static_cast<ptrdiff_t>(start_);
    return filled(bytes_.begin(), begin) && filled(begin + static_cast<ptrdiff_t>(size_), bytes_.end());
  }

 private:
  static constexpr std::byte kFill{0xA5};
  size_t size_, start_;
  std::vector<std::byte> bytes_;  // a move leaves them where they are
};

struct Shape {
  uint32_t operands, outputs;
  Store store;
  size_t offset;  // of the inputs from alignment
  size_t skew;    // of each output from the one before
  bool in_place;
  uint32_t ranks;
  uint32_t cached = 0;
  bool down = false;
};

template <class T>
void check(Dtype dtype, ReduceOp op, const Shape& s, const std::vector<std::vector<T>>& values,
           const std::vector<T>& want) {
  const size_t count = want.size();
  std::vector<Padded<T>> in, out;
  in.reserve(s.operands);
  out.reserve(s.outputs);
  std::vector<const std::byte*> inputs;
  std::vector<std::byte*> outputs;
  for (uint32_t k = 0; k < s.operands; k++) {
    in.emplace_back(count, s.offset).set(values[k]);
    inputs.push_back(in.back().data());
  }
  for (uint32_t k = 0; k < s.outputs; k++) {
    out.emplace_back(count, k * s.skew);
    outputs.push_back(out.back().data());
  }
  if (s.in_place) outputs[0] = in[s.operands - 1].data();
  FoldKernel kernel = fold_kernel(dtype, op);
  ASSERT_NE(kernel, nullptr);
  kernel({.inputs = inputs.data(),
          .input_count = s.operands,
          .outputs = outputs.data(),
          .output_count = s.outputs,
          .count = count,
          .ranks = s.ranks,
          .store = s.store,
          .cached = s.cached,
          .down = s.down});

  for (uint32_t k = 0; k < s.outputs; k++) {
    auto& o = s.in_place && k == 0 ? in[s.operands - 1] : out[k];
    size_t good = 0;
    while (good < count && reference::same(o.at(good), want[good])) good++;
    ASSERT_EQ(good, count) << "output " << k;
    ASSERT_EQ(std::memcmp(o.data(), outputs[0], count * sizeof(T)), 0) << "outputs differ in bits";
  }
  for (auto& b : in) ASSERT_TRUE(b.guards_intact());
  for (auto& b : out) ASSERT_TRUE(b.guards_intact());
}

// All ways to store and to lie in memory.
std::vector<Shape> shapes(uint32_t operands, size_t element, uint32_t ranks) {
  const std::array<size_t, 2> kPlaces[] = {{0, 0}, {element, 0}, {1, 3}, {0, 64}, {3 * element, element}};
  std::vector<Shape> all;
  for (uint32_t outputs : {1u, 2u, 3u, 4u}) {
    if (outputs == 4 && operands != 4) continue;
    for (Store store : {Store::plain, Store::prefetch, Store::past_cache}) {
      for (bool in_place : {false, true}) {
        for (auto [offset, skew] : kPlaces) {
          all.push_back({operands, outputs, store, offset, skew, in_place, ranks});
          if (store == Store::plain)
            all.push_back({operands, outputs, store, offset, skew, in_place, ranks, 0, true});
        }
        if (store == Store::past_cache) {
          for (uint32_t cached : {1u, outputs})
            all.push_back({operands, outputs, store, 0, element, in_place, ranks, cached});
        }
      }
    }
  }
  return all;
}

// Under sanitizers a third of all that follows: a kernel is many times slower there.
#ifdef PLAIT_SANITIZED
constexpr size_t kFewer = 3;
#else
constexpr size_t kFewer = 1;
#endif

// All shapes for the small folds, every seventh, beginning elsewhere each time, for the large ones.
template <class T>
void check_shapes(Dtype dtype, ReduceOp op, const std::vector<std::vector<T>>& values) {
  static size_t turn = 0;
  const auto operands = static_cast<uint32_t>(values.size());
  const uint32_t ranks = op == ReduceOp::avg ? operands : 3;  // ignored unless avg
  const auto want = reference::fold(op, values, ranks);
  const auto all = shapes(operands, sizeof(T), ranks);
  const size_t step = (operands <= 4 && want.size() <= 65 ? 1 : 7) * kFewer;
  for (size_t i = step == 1 ? 0 : turn++ % step; i < all.size(); i += step) {
    const Shape& s = all[i];
    SCOPED_TRACE(testing::Message() << "outputs " << s.outputs << " store " << int(s.store) << " in place "
                                    << s.in_place << " offset " << s.offset << " skew " << s.skew);
    check<T>(dtype, op, s, values, want);
    if (testing::Test::HasFatalFailure()) return;
  }
}

template <class T>
void check_type(Dtype dtype) {
  Values<T> source;
  for (uint32_t operands : {1u, 2u, 3u, 4u, 5u, 8u, 17u, 64u}) {
    for (size_t count : kCounts) {
      std::vector<std::vector<T>> values(operands, std::vector<T>(count));
      for (auto& v : values) {
        for (auto& x : v) x = source.next();
      }
      for (auto op : {ReduceOp::sum, ReduceOp::prod, ReduceOp::max, ReduceOp::min, ReduceOp::avg}) {
        SCOPED_TRACE(testing::Message()
                     << "op " << int(op) << " operands " << operands << " count " << count);
        check_shapes<T>(dtype, op, values);
        if (testing::Test::HasFatalFailure()) return;
      }
    }
  }
}

class FoldTest : public EachTarget {};

TEST_P(FoldTest, Int8) { check_type<int8_t>(Dtype::int8); }
TEST_P(FoldTest, Uint8) { check_type<uint8_t>(Dtype::uint8); }
TEST_P(FoldTest, Int32) { check_type<int32_t>(Dtype::int32); }
TEST_P(FoldTest, Uint32) { check_type<uint32_t>(Dtype::uint32); }
TEST_P(FoldTest, Int64) { check_type<int64_t>(Dtype::int64); }
TEST_P(FoldTest, Uint64) { check_type<uint64_t>(Dtype::uint64); }
TEST_P(FoldTest, Float16) { check_type<half>(Dtype::float16); }
TEST_P(FoldTest, Float32) { check_type<float>(Dtype::float32); }
TEST_P(FoldTest, Float64) { check_type<double>(Dtype::float64); }
TEST_P(FoldTest, Bfloat16) { check_type<bfloat>(Dtype::bfloat16); }
TEST_P(FoldTest, Float8E4m3) { check_type<e4m3>(Dtype::float8_e4m3); }
TEST_P(FoldTest, Float8E5m2) { check_type<e5m2>(Dtype::float8_e5m2); }

PLAIT_EACH_TARGET(FoldTest);

}  // namespace
}  // namespace plait::collectives
