// The corners of the contract that a sweep over ordinary folds does not touch.
#include <gtest/gtest.h>

#include <limits>
#include <numeric>

#include "reference.h"
#include "targets_test.h"

namespace plait::collectives {
namespace {

class EdgeTest : public EachTarget {};

template <class T>
std::vector<T> run(Dtype dtype, ReduceOp op, const std::vector<std::vector<T>>& in, uint32_t ranks = 0) {
  std::vector<T> out(in[0].size());
  std::vector<const std::byte*> inputs;
  for (auto& v : in) inputs.push_back(reinterpret_cast<const std::byte*>(v.data()));
  auto* output = reinterpret_cast<std::byte*>(out.data());
  fold_kernel(dtype, op)({inputs.data(), static_cast<uint32_t>(in.size()), &output, 1, out.size(), ranks});
  return out;
}

TEST(Reduce, UnknownNumbersHaveNoKernel) {
  for (int32_t d : {-1, kDtypes, 1000}) EXPECT_EQ(fold_kernel(Dtype{d}, ReduceOp::sum), nullptr);
  for (int32_t o : {-1, kReduceOps, 1000}) EXPECT_EQ(fold_kernel(Dtype::float32, ReduceOp{o}), nullptr);
  EXPECT_EQ(size_of(Dtype{kDtypes}), 0u);
}

TEST(Reduce, Sizes) {
  constexpr size_t kSizes[kDtypes] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};
  for (int32_t d = 0; d < kDtypes; d++) {
    EXPECT_EQ(size_of(Dtype{d}), kSizes[d]);
    for (int32_t o = 0; o < kReduceOps; o++) EXPECT_NE(fold_kernel(Dtype{d}, ReduceOp{o}), nullptr);
  }
}

TEST_P(EdgeTest, KernelIsTheTargetsOwn) {
  // Asking twice must not go through a dispatcher that the first call leaves behind.
  EXPECT_EQ(fold_kernel(Dtype::float32, ReduceOp::sum), fold_kernel(Dtype::float32, ReduceOp::sum));
}

// Truncation at the ends of every integer type, for divisors around the type's own range.
template <class T>
void averages(Dtype dtype) {
  using L = std::numeric_limits<T>;
  std::vector<T> values = {L::min(),        L::max(), T(0),     T(1),    T(L::max() - 1),
                           T(L::min() + 1), T(7),     T(0 - 7), T(0 - 1)};
  for (int i = 0; i < 300; i++) values.push_back(static_cast<T>(L::max() - static_cast<T>(i % 100) * 3));
  for (uint32_t ranks : {0u, 1u, 2u, 3u, 5u, 7u, 8u, 10u, 64u, 127u, 128u, 255u, 256u, 257u, 65537u,
                         2147483647u, 2147483648u, 4294967295u}) {
    EXPECT_EQ(run<T>(dtype, ReduceOp::avg, {values}, ranks),
              reference::fold<T>(ReduceOp::avg, {values}, ranks))
        << ranks;
  }
}
TEST_P(EdgeTest, AverageOfIntegersTruncates) {
  averages<int8_t>(Dtype::int8);
  averages<uint8_t>(Dtype::uint8);
  averages<int32_t>(Dtype::int32);
  averages<uint32_t>(Dtype::uint32);
  averages<int64_t>(Dtype::int64);
  averages<uint64_t>(Dtype::uint64);
}

// Quotients next to integers, where dividing as floats is most at risk.
TEST_P(EdgeTest, AverageNextToMultiples) {
  for (uint32_t ranks : {3u, 7u, 10u, 49u, 1000003u, 2147483629u}) {
    std::vector<int32_t> i;
    std::vector<uint32_t> u;
    for (uint64_t q = 0; q * ranks < 4294967000u; q += 1 + 4294967000u / ranks / 500) {
      for (uint64_t r : {q * ranks, q * ranks + 1, q * ranks + ranks - 1}) {
        u.push_back(static_cast<uint32_t>(r));
        i.push_back(static_cast<int32_t>(static_cast<uint32_t>(r)));
      }
    }
    EXPECT_EQ(run<int32_t>(Dtype::int32, ReduceOp::avg, {i}, ranks),
              reference::fold<int32_t>(ReduceOp::avg, {i}, ranks));
    EXPECT_EQ(run<uint32_t>(Dtype::uint32, ReduceOp::avg, {u}, ranks),
              reference::fold<uint32_t>(ReduceOp::avg, {u}, ranks));
  }
}

template <class T>
void zeros_and_nans(Dtype dtype) {
  constexpr T kNan = std::numeric_limits<T>::quiet_NaN(), kInf = std::numeric_limits<T>::infinity();
  const T list[] = {T(0), -T(0), T(1), -T(1), kNan, -kNan, kInf, -kInf};
  std::vector<T> a, b;
  for (T x : list) {
    for (T y : list) {
      a.push_back(x);
      b.push_back(y);
    }
  }
  for (auto op : {ReduceOp::min, ReduceOp::max}) {
    const auto got = run<T>(dtype, op, {a, b});
    const auto want = reference::fold<T>(op, {a, b}, 0);
    for (size_t i = 0; i < a.size(); i++)
      EXPECT_TRUE(reference::same(got[i], want[i])) << a[i] << ", " << b[i];
  }
}
TEST_P(EdgeTest, MinAndMaxOfZerosAndNans) {
  zeros_and_nans<float>(Dtype::float32);
  zeros_and_nans<double>(Dtype::float64);
}

TEST_P(EdgeTest, AllOperandsAndOutputsTheSame) {
  std::vector<int32_t> v(1003);
  std::iota(v.begin(), v.end(), -500);
  const auto once = v;
  const std::vector<const std::byte*> inputs(kMaxOperands, reinterpret_cast<const std::byte*>(v.data()));
  const std::vector<std::byte*> outputs(kMaxOperands, reinterpret_cast<std::byte*>(v.data()));
  fold_kernel(Dtype::int32, ReduceOp::sum)(
      {inputs.data(), kMaxOperands, outputs.data(), kMaxOperands, v.size(), 0, Store::past_cache});
  for (size_t i = 0; i < v.size(); i++) ASSERT_EQ(v[i], once[i] * 64);
}

TEST_P(EdgeTest, CopyToAll) {
  for (size_t bytes : {0u, 1u, 2u, 63u, 64u, 100u, 5000u, 70001u}) {
    std::vector<std::byte> from(bytes + 8);
    for (size_t i = 0; i < from.size(); i++) from[i] = static_cast<std::byte>(i * 7 + i / 256);
    for (uint32_t outputs : {1u, 2u, 5u}) {
      for (Store store : {Store::plain, Store::prefetch, Store::past_cache}) {
        for (size_t offset : {0u, 3u}) {
          std::vector<std::vector<std::byte>> to(outputs, std::vector<std::byte>(bytes + 16));
          std::vector<std::byte*> pointers;
          for (auto& t : to) pointers.push_back(t.data() + offset);
          copy_to_all(from.data() + 1, pointers.data(), outputs, bytes, store);
          for (auto& t : to) {
            ASSERT_TRUE(
                std::equal(from.begin() + 1, from.begin() + 1 + long(bytes), t.begin() + long(offset)));
            ASSERT_EQ(t[offset + bytes], std::byte{0});
          }
        }
      }
    }
  }
  std::byte same[3] = {std::byte{1}, std::byte{2}, std::byte{3}};
  std::byte* self[] = {same};
  copy_to_all(same, self, 1, 3);
  EXPECT_EQ(same[2], std::byte{3});
}

PLAIT_EACH_TARGET(EdgeTest);

}  // namespace
}  // namespace plait::collectives
