// How fast are the folds, next to memcpy and to a loop written by hand for one case?
//   bench_reduce --benchmark_enable_random_interleaving --benchmark_repetitions=9
//   --benchmark_report_aggregates_only
// bytes_per_second counts every operand read and every output written.
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "collectives/reduce/reduce.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace plait::collectives {
namespace {

constexpr int64_t kSizes[] = {8, 4 << 10, 16 << 10, 256 << 10, 16 << 20};

struct Free {
  void operator()(std::byte* p) const { std::free(p); }
};
using Memory = std::unique_ptr<std::byte[], Free>;

// `count` buffers, touched; a page more each, so that they do not all fall into the same cache sets.
std::vector<Memory> buffers(uint32_t count, size_t bytes) {
  std::vector<Memory> all;
  for (uint32_t k = 0; k < count; k++) {
    const size_t size = (bytes + 4096 * (k + 1)) / 4096 * 4096;
    all.emplace_back(static_cast<std::byte*>(std::aligned_alloc(4096, size)));
    std::memset(all.back().get(), 0, size);
  }
  return all;
}

void count_bytes(benchmark::State& state, int64_t streams) {
  state.SetBytesProcessed(state.iterations() * streams * state.range(0));
}

void run(benchmark::State& state, Dtype dtype, ReduceOp op, uint32_t operands, uint32_t outputs,
         Store store) {
  const auto bytes = static_cast<size_t>(state.range(0));
  const auto memory = buffers(operands + outputs, bytes);
  std::vector<const std::byte*> in;
  std::vector<std::byte*> out;
  for (uint32_t k = 0; k < operands; k++) in.push_back(memory[k].get());
  for (uint32_t k = 0; k < outputs; k++) out.push_back(memory[operands + k].get());
  const FoldKernel kernel = fold_kernel(dtype, op);
  const Fold fold{in.data(), operands, out.data(), outputs, bytes / size_of(dtype), operands, store};
  for (auto _ : state) {
    kernel(fold);
    benchmark::ClobberMemory();
  }
  count_bytes(state, operands + outputs);
}

void plain_memcpy(benchmark::State& state) {
  const auto bytes = static_cast<size_t>(state.range(0));
  const auto memory = buffers(2, bytes);
  for (auto _ : state) {
    std::memcpy(memory[1].get(), memory[0].get(), bytes);
    benchmark::ClobberMemory();
  }
  count_bytes(state, 2);
}

#if defined(__x86_64__)
// The yardstick: float32, two operands, two outputs, whole vectors, aligned.
enum class By { plain, prefetch, stream };

template <By by>
__attribute__((target("avx512f,prfchw"), optimize("no-tree-vectorize"), noinline)) void by_hand(
    const float* a, const float* b, float* x, float* y, size_t count) {
  constexpr size_t kAhead = 256;
  if (by == By::prefetch) {
    for (size_t i = 0; i < kAhead && i < count; i += 16) {
      __builtin_prefetch(x + i, 1);
      __builtin_prefetch(y + i, 1);
    }
  }
  for (size_t i = 0; i < count; i += 16) {
    if (by == By::prefetch && i + kAhead < count) {
      __builtin_prefetch(x + i + kAhead, 1);
      __builtin_prefetch(y + i + kAhead, 1);
    }
    const __m512 s = _mm512_add_ps(_mm512_loadu_ps(a + i), _mm512_loadu_ps(b + i));
    if (by == By::stream) {
      _mm512_stream_ps(x + i, s);
      _mm512_stream_ps(y + i, s);
    } else {
      _mm512_storeu_ps(x + i, s);
      _mm512_storeu_ps(y + i, s);
    }
  }
  if (by == By::stream) _mm_sfence();
}

template <By by>
void hand_written(benchmark::State& state) {
  const auto bytes = static_cast<size_t>(state.range(0));
  const auto memory = buffers(4, bytes);
  const auto at = [&](size_t k) { return reinterpret_cast<float*>(memory[k].get()); };
  for (auto _ : state) {
    by_hand<by>(at(0), at(1), at(2), at(3), bytes / sizeof(float));
    benchmark::ClobberMemory();
  }
  count_bytes(state, 4);
}
#endif

const char* name_of(Dtype dtype) {
  constexpr const char* kNames[kDtypes] = {"int8",    "uint8",    "int32",       "uint32",
                                           "int64",   "uint64",   "float16",     "float32",
                                           "float64", "bfloat16", "float8_e4m3", "float8_e5m2"};
  return kNames[static_cast<int>(dtype)];
}
const char* name_of(ReduceOp op) {
  constexpr const char* kNames[kReduceOps] = {"sum", "prod", "max", "min", "avg"};
  return kNames[static_cast<int>(op)];
}
const char* name_of(Store store) {
  constexpr const char* kNames[] = {"plain", "prefetch", "stream"};
  return kNames[static_cast<int>(store)];
}

void add(Dtype dtype, ReduceOp op, uint32_t operands, uint32_t outputs, Store store) {
  const std::string name = std::string("fold/") + name_of(dtype) + "/" + name_of(op) + "/" +
                           std::to_string(operands) + "to" + std::to_string(outputs) + "/" + name_of(store);
  auto* b = benchmark::RegisterBenchmark(name.c_str(), run, dtype, op, operands, outputs, store);
  for (int64_t size : kSizes) b->Arg(size);
}

void add_all() {
  auto* copy = benchmark::RegisterBenchmark("memcpy", plain_memcpy);
  for (int64_t size : kSizes) copy->Arg(size);
  for (Store store : {Store::plain, Store::prefetch, Store::past_cache}) {
    add(Dtype::float32, ReduceOp::sum, 2, 2, store);
    if (store != Store::plain) add(Dtype::float32, ReduceOp::sum, 2, 1, store);
  }
  for (uint32_t operands : {3u, 4u, 8u, 64u}) add(Dtype::float32, ReduceOp::sum, operands, 1, Store::plain);
  for (int d = 0; d < kDtypes; d++) {
    for (int o = 0; o < kReduceOps; o++) add(Dtype{d}, ReduceOp{o}, 2, 1, Store::plain);
  }
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) {
    for (int64_t size : {16 << 10, 256 << 10, 16 << 20}) {
      benchmark::RegisterBenchmark("by_hand/plain", hand_written<By::plain>)->Arg(size);
      benchmark::RegisterBenchmark("by_hand/prefetch", hand_written<By::prefetch>)->Arg(size);
      benchmark::RegisterBenchmark("by_hand/stream", hand_written<By::stream>)->Arg(size);
    }
  }
#endif
}

}  // namespace
}  // namespace plait::collectives

int main(int argc, char** argv) {
  plait::collectives::add_all();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
}
