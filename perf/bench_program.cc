// How long one rank takes to make its program, and how much memory the program takes, at sizes that are
// planned and costed rather than run. Prints one line a case; asserts nothing.
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "collectives/compose.h"

namespace plait::collectives {
namespace {

int64_t cpu_ns() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

// The best of a few builds, in CPU time: what it takes, not what else the machine does.
template <class Build>
void measure(const char* what, Build build) {
  constexpr int kBuilds = 5;
  int64_t best_ns = INT64_MAX;
  size_t steps = 0, bytes = 0;
  for (int i = 0; i < kBuilds; i++) {
    const int64_t start = cpu_ns();
    const Program p = build();
    best_ns = std::min(best_ns, cpu_ns() - start);
    steps = p.steps.size();
    bytes =
        p.steps.capacity() * sizeof(Step) + (p.dep_begin.capacity() + p.deps.capacity()) * sizeof(uint32_t);
  }
  std::printf("%-44s %9zu steps %8.3f ms %7.2f MB\n", what, steps, double(best_ns) / 1e6,
              double(bytes) / 1e6);
}

Program compose(Collective collective, const char* algorithms, std::vector<std::vector<int>> sizes,
                int rank) {
  auto hierarchy = Hierarchy::make(std::move(sizes));
  auto made = Composition::make(collective, algorithms, std::move(*hierarchy));
  auto program = made->build(rank, 0, true);
  if (program.ok()) return std::move(*program);
  std::fprintf(stderr, "%s\n", std::string(program.status().text()).c_str());
  std::exit(1);
}

void flat(Collective collective, const char* name, int n) {
  const std::string what = std::string(name_of(collective)) + " " + name + " " + std::to_string(n);
  measure(what.c_str(), [&] { return find_algorithm(collective, name)->build(n, n / 3, 0, true); });
}

void all() {
  constexpr Collective kAllreduce = Collective::allreduce;
  measure("allreduce ring/ring/ring 8 x 64 x 128", [] {
    return compose(kAllreduce, "ring/ring/ring", {{8}, {64}, {128}}, 12345);
  });
  measure("allreduce direct/rabenseifner/double_tree", [] {
    return compose(kAllreduce, "direct/rabenseifner/double_tree", {{8}, {64}, {128}}, 12345);
  });
  measure("allreduce binomial/ring/ring 8 x 64 x 128", [] {
    return compose(kAllreduce, "binomial/ring/ring", {{8}, {64}, {128}}, 8 * 99);
  });
  measure("reduce_scatter ring/ring/ring 8 x 64 x 128", [] {
    return compose(Collective::reduce_scatter, "ring/ring/ring", {{8}, {64}, {128}}, 12345);
  });
  flat(kAllreduce, "ring", 65536);
  flat(kAllreduce, "rabenseifner", 65536);
  flat(kAllreduce, "swing", 65536);
  flat(kAllreduce, "double_tree", 65536);
  flat(Collective::reduce_scatter, "pat", 65536);
  flat(Collective::barrier, "dissemination", 65536);
}

}  // namespace
}  // namespace plait::collectives

int main() { plait::collectives::all(); }
