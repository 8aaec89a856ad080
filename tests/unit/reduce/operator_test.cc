// Scaled sums and folds by a function of the user's.
#include <gtest/gtest.h>

#include <random>

#include "reference.h"
#include "targets_test.h"

namespace plait::collectives {
namespace {

using reference::bfloat;
using reference::e4m3;
using reference::e5m2;
using reference::half;

// Every bit pattern at times, mostly numbers near one.
template <class T>
T any(std::mt19937_64& random) {
  const auto r = random();
  if constexpr (reference::kNarrow<T>) {
    if (r % 8 == 0) return {static_cast<decltype(T::bits)>(r >> 16)};
    return reference::narrow<T>((static_cast<float>((r >> 8) & 0xFFFF) - 32768.0f) / 9973.0f);
  } else if constexpr (std::is_floating_point_v<T>) {
    return (static_cast<T>((r >> 8) & 0xFFFFFF) - T(8388608)) / T(1000003);
  } else {
    return static_cast<T>(r >> 8);
  }
}

// What a contribution is once it has entered.
template <class T, class F>
T entered(T v, F factor) {
  if constexpr (std::is_integral_v<T>)
    return static_cast<T>(static_cast<uint64_t>(v) * static_cast<uint64_t>(static_cast<int64_t>(factor)));
  else
    return reference::narrow<T>(reference::widen(v) * static_cast<decltype(reference::widen(v))>(factor));
}

template <class T>
std::vector<T> scaled(Dtype dtype, const std::vector<std::vector<T>>& in, uint32_t own, const Operator& op,
                      uint32_t ranks, bool in_place) {
  std::vector<std::vector<T>> copy = in;
  std::vector<T> out(in[0].size()), second(in[0].size());
  std::vector<const std::byte*> inputs;
  for (auto& v : copy) inputs.push_back(reinterpret_cast<const std::byte*>(v.data()));
  auto& first = in_place ? copy.back() : out;
  std::byte* outputs[] = {reinterpret_cast<std::byte*>(first.data()),
                          reinterpret_cast<std::byte*>(second.data())};
  scaled_kernel(dtype)({.inputs = inputs.data(),
                        .input_count = static_cast<uint32_t>(in.size()),
                        .outputs = outputs,
                        .output_count = 2,
                        .count = out.size(),
                        .ranks = ranks,
                        .own = own,
                        .op = &op});
  EXPECT_TRUE(out.empty() || std::memcmp(first.data(), second.data(), out.size() * sizeof(T)) == 0)
      << "outputs differ";
  return first;
}

template <class T>
void sums(Dtype dtype, double factor) {
  std::mt19937_64 random(42);
  const Operator op{.real = factor, .integer = static_cast<uint64_t>(static_cast<int64_t>(factor))};
  for (size_t count : {0u, 1u, 2u, 3u, 15u, 16u, 31u, 67u, 1003u}) {
    for (uint32_t operands : {1u, 2u, 5u}) {
      std::vector<std::vector<T>> in(operands, std::vector<T>(count));
      for (auto& v : in) {
        for (T& x : v) x = any<T>(random);
      }
      for (uint32_t own : {0u, operands - 1, kNoOperand}) {
        auto wanted = in;
        if (own != kNoOperand) {
          for (T& x : wanted[own]) x = entered(x, factor);
        }
        const auto want = reference::fold<T>(ReduceOp::sum, wanted, 0);
        for (bool in_place : {false, true}) {
          const auto got = scaled<T>(dtype, in, own, op, 0, in_place);
          for (size_t i = 0; i < count; i++) {
            ASSERT_TRUE(reference::same(got[i], want[i]))
                << "element " << i << " of " << count << ", " << operands << " operands, own " << own;
          }
        }
      }
    }
  }
}

class OperatorTest : public EachTarget {};

TEST_P(OperatorTest, ScaledSums) {
  for (double factor : {0.25, -3.0, 0.1, 1.0}) {
    sums<half>(Dtype::float16, factor);
    sums<bfloat>(Dtype::bfloat16, factor);
    sums<e4m3>(Dtype::float8_e4m3, factor);
    sums<e5m2>(Dtype::float8_e5m2, factor);
    sums<float>(Dtype::float32, factor);
    sums<double>(Dtype::float64, factor);
  }
  for (double factor : {3.0, -7.0}) {
    sums<int8_t>(Dtype::int8, factor);
    sums<uint8_t>(Dtype::uint8, factor);
    sums<int32_t>(Dtype::int32, factor);
    sums<uint32_t>(Dtype::uint32, factor);
    sums<int64_t>(Dtype::int64, factor);
    sums<uint64_t>(Dtype::uint64, factor);
  }
}

// Ranks fold one after the other, scaled down by a power of two: what comes out is what one chain would give,
// where every partial sum is exact.
TEST_P(OperatorTest, AveragesScaledOnTheWayDoNotOverflow) {
  for (uint32_t ranks : {2u, 3u, 5u, 8u}) {
    const Operator op{.real = ranks == 2 ? 0.5 : ranks == 3 ? 0.25 : 0.125};
    std::vector<half> sum;
    for (uint32_t r = 0; r < ranks; r++) {
      const std::vector<half> own(21, half{0x7B80});  // 61440
      if (r == 0) sum = scaled<half>(Dtype::float16, {own}, 0, op, 0, false);
      if (r > 0)
        sum = scaled<half>(Dtype::float16, {own, sum}, 0, op, r + 1 == ranks ? ranks : 0, r % 2 == 1);
    }
    for (half v : sum) EXPECT_EQ(v.bits, 0x7B80) << ranks;
  }
}

// x -> a x + b, modulo 2^32: composition is associative and does not commute.
void compose(void* context, const void* left, const void* right, void* out, size_t count, int32_t dtype) {
  ++*static_cast<int*>(context);
  ASSERT_EQ(dtype, static_cast<int32_t>(Dtype::uint64));
  for (size_t i = 0; i < count; i++) {
    uint32_t l[2], r[2];
    std::memcpy(l, static_cast<const uint64_t*>(left) + i, 8);
    std::memcpy(r, static_cast<const uint64_t*>(right) + i, 8);
    const uint32_t both[2] = {l[0] * r[0], l[0] * r[1] + l[1]};
    std::memcpy(static_cast<uint64_t*>(out) + i, both, 8);
  }
}

TEST(UserFold, FromLeftToRightWhereverTheOutputIs) {
  std::mt19937_64 random(7);
  int calls = 0;
  const Operator op{.function = compose, .context = &calls, .dtype = Dtype::uint64};
  for (uint32_t operands : {1u, 2u, 3u, 8u, 64u}) {
    for (size_t count : {1u, 511u, 512u, 513u, 3000u}) {
      std::vector<std::vector<uint64_t>> in(operands, std::vector<uint64_t>(count));
      for (auto& v : in) {
        for (auto& x : v) x = random();
      }
      std::vector<uint64_t> want = in[0];
      for (uint32_t k = 1; k < operands; k++)
        compose(&calls, want.data(), in[k].data(), want.data(), count, 5);
      for (uint32_t place = 0; place <= operands; place++) {  // the output is that operand, or none
        auto copy = in;
        std::vector<uint64_t> out(count), second(count);
        std::vector<const std::byte*> inputs;
        for (auto& v : copy) inputs.push_back(reinterpret_cast<const std::byte*>(v.data()));
        auto& first = place < operands ? copy[place] : out;
        for (bool swap : {false, true}) {
          if (swap) copy = in;
          std::byte* outputs[] = {reinterpret_cast<std::byte*>(first.data()),
                                  reinterpret_cast<std::byte*>(second.data())};
          if (swap) std::swap(outputs[0], outputs[1]);
          calls = 0;
          user_kernel()({.inputs = inputs.data(),
                         .input_count = operands,
                         .outputs = outputs,
                         .output_count = 2,
                         .count = count,
                         .op = &op});
          EXPECT_EQ(calls > 0, operands > 1);
          ASSERT_EQ(first, want) << operands << " operands into " << place;
          ASSERT_EQ(second, want) << operands << " operands into " << place;
        }
      }
    }
  }
}

PLAIT_EACH_TARGET(OperatorTest);

}  // namespace
}  // namespace plait::collectives
