// What it costs to make and free a block, and to touch it: plait's allocator beside malloc.
//   bench_alloc [--benchmark_filter=touch] [--benchmark_repetitions=5 --benchmark_report_aggregates_only]
// cycle: made and freed. touch: made, a byte of each page written, freed: the second time and later.
// first_touch: the same, with all free memory given back before each (not counted). threads: cycle, from
// several threads at once.
#include <benchmark/benchmark.h>
#include <malloc.h>
#include <plait/plait.h>

#include <chrono>
#include <cstdlib>

namespace {

struct Malloc {
  static void* make(size_t bytes) { return std::malloc(bytes); }
  static void free(void* p) { std::free(p); }
  static void trim() { malloc_trim(0); }
};
struct Plait {
  static void* make(size_t bytes) { return plait_malloc(bytes); }
  static void free(void* p) { plait_free(p); }
  static void trim() { plait_mem_trim(); }
};
// Zeroed, as before there was any other.
struct PlaitMemAlloc : Plait {
  static void* make(size_t bytes) {
    void* p = nullptr;
    return plait_mem_alloc(bytes, &p) == PLAIT_OK ? p : nullptr;
  }
  static void free(void* p) { plait_mem_free(p); }
};

void touch(void* p, size_t bytes) {
  for (size_t at = 0; at < bytes; at += 4096) static_cast<volatile char*>(p)[at] = 1;
}

template <class Allocator>
void cycle(benchmark::State& state) {
  for (auto _ : state) {
    void* p = Allocator::make(size_t(state.range(0)));
    benchmark::DoNotOptimize(p);
    Allocator::free(p);
  }
}

template <class Allocator>
void touched(benchmark::State& state) {
  const auto bytes = size_t(state.range(0));
  for (auto _ : state) {
    void* p = Allocator::make(bytes);
    touch(p, bytes);
    Allocator::free(p);
  }
}

template <class Allocator>
void first_touch(benchmark::State& state) {
  const auto bytes = size_t(state.range(0));
  for (auto _ : state) {
    Allocator::trim();
    const auto start = std::chrono::steady_clock::now();
    void* p = Allocator::make(bytes);
    touch(p, bytes);
    Allocator::free(p);
    state.SetIterationTime(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
}

template <class Allocator>
void add(const char* name) {
  const auto named = [name](const char* what) { return std::string(what) + "/" + name; };
  for (const int64_t bytes : {int64_t{64}, int64_t{4} << 10, int64_t{1} << 20, int64_t{64} << 20}) {
    benchmark::RegisterBenchmark(named("cycle").c_str(), cycle<Allocator>)->Arg(bytes)->MinTime(0.05);
    benchmark::RegisterBenchmark(named("touch").c_str(), touched<Allocator>)->Arg(bytes)->MinTime(0.05);
    benchmark::RegisterBenchmark(named("first_touch").c_str(), first_touch<Allocator>)
        ->Arg(bytes)
        ->UseManualTime()
        ->MinTime(0.02);
  }
  benchmark::RegisterBenchmark(named("threads").c_str(), cycle<Allocator>)
      ->Arg(64)
      ->Threads(2)
      ->MinTime(0.05);
}

}  // namespace

int main(int argc, char** argv) {
  if (plait_init(nullptr) != PLAIT_OK) return 1;
  add<Malloc>("malloc");
  add<Plait>("plait_malloc");
  add<PlaitMemAlloc>("plait_mem_alloc");
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  return plait_finalize() == PLAIT_OK ? 0 : 1;
}
