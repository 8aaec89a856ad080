// How fast is the arithmetic of low-rank compression, beside memcpy? Each function reads or writes the matrix
// once.
//
//   bench_lowrank --help
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "collectives/lowrank/lowrank.h"
#include "tools/command_line.h"

namespace plait::collectives::lowrank {
namespace {

struct Options {
  std::vector<size_t> rows = {256, 1024, 4096}, columns = {256, 4096, 4096}, ranks = {1, 2, 4, 8, 16};
  int64_t ms = 60;  // of a measurement
};

using Floats = std::vector<float>;

// GB/s over `bytes` a call: the best of five, each as many calls as fill its time.
double speed(double bytes, int64_t ms, const std::function<void()>& call) {
  call();
  double best = 0;
  for (int repetition = 0; repetition < 5; repetition++) {
    const int64_t begin = now_ns(), end = begin + ms * 1'000'000 / 5;
    int64_t now = begin, calls = 0;
    for (; now < end; now = now_ns(), calls++) call();
    best = std::max(best, bytes * double(calls) / double(now - begin));
  }
  return best;
}

// Between -1 and 1, no two rows alike.
Floats numbers(size_t count) {
  Floats all(count);
  for (size_t i = 0; i < count; i++) all[i] = float(int(i * 2654435761u >> 12 & 0xFFF) - 2048) / 2048;
  return all;
}

struct Bench {
  Bench(size_t rows, size_t columns, int64_t time_ms)
      : shape{rows, columns, 0},
        bytes(double(rows * columns * sizeof(float))),
        ms(time_ms),
        m(numbers(rows * columns)),
        error(m.size()) {}

  void copy() {
    const double gb = speed(bytes, ms, [this] { std::memcpy(error.data(), m.data(), size_t(bytes)); });
    std::printf("%5zu x %-5zu memcpy %.1f\n", shape.rows, shape.columns, gb);
    std::fill(error.begin(), error.end(), 0.0F);
  }

  void rank(size_t rank) {
    shape.rank = rank;
    Floats p(shape.p_elements()), q(shape.q_elements());
    start(shape, 1, q.data());
    const auto run = [&](const std::function<void()>& call) { return speed(bytes, ms, call); };
    const double plain = run([&] { project(shape, m.data(), nullptr, q.data(), p.data()); });
    const double both = run([&] { project(shape, m.data(), error.data(), q.data(), p.data()); });
    // From the second call on p is orthonormal already, which takes as long.
    const double orthonormal = run([&] { orthonormalise(shape, p.data()); });
    const double back = run([&] { project_back(shape, m.data(), nullptr, p.data(), q.data()); });
    const double both_back = run([&] { project_back(shape, m.data(), error.data(), p.data(), q.data()); });
    const double keep = run([&] { keep_error(shape, m.data(), error.data(), p.data(), q.data()); });
    const double rebuilt = run([&] { reconstruct(shape, p.data(), q.data(), 1, m.data()); });
    std::printf("%8zu %9.1f %9.1f %9.1f %9.1f %9.1f %9.1f %14.1f\n", rank, plain, both, back, both_back, keep,
                rebuilt, bytes / orthonormal / 1e3);
    std::fill(error.begin(), error.end(), 0.0F);
  }

  Shape shape;
  double bytes;
  int64_t ms;
  Floats m, error;
};

int run(const Options& options) {
  std::printf("GB/s of the matrix; \"+ e\": with error feedback, which is as much again\n");
  for (size_t i = 0; i < options.rows.size(); i++) {
    Bench bench(options.rows[i], options.columns[i], options.ms);
    bench.copy();
    std::printf("%8s %9s %9s %9s %9s %9s %9s %14s\n", "rank", "project", "+ e", "back", "+ e", "keep",
                "rebuild", "orthonorm. us");
    for (const size_t rank : options.ranks) {
      if (rank <= std::min({options.rows[i], options.columns[i], kMaxRank})) bench.rank(rank);
    }
  }
  return 0;
}

constexpr const char* kHelp = R"(bench_lowrank [OPTIONS]

How fast low-rank compression (PowerSGD) computes, beside memcpy.

  --rows LIST       rows of each matrix               (256,1024,4096)
  --columns LIST    columns of each                   (256,4096,4096)
  --ranks LIST      ranks to compress to, 1 to 64     (1,2,4,8,16)
  --ms TIME         time of a measurement, in ms      (60)

Printed: project, project_back, keep_error and reconstruct in GB/s of the matrix, which each of them
reads or writes once; "+ e": with the error, as much again; orthonormalise in microseconds.
The best of five.

Examples:
  bench_lowrank                                 256 x 256, 1024 x 4096, 4096 x 4096
  bench_lowrank --rows 8192 --columns 1024      another matrix
  bench_lowrank --ranks 4 --ms 500              one rank, measured for longer
)";

}  // namespace
}  // namespace plait::collectives::lowrank

int main(int argc, char** argv) {
  using namespace plait::collectives::lowrank;
  Options options;
  CLI::App app;
  const CLI::Range side(1, 1 << 16);
  app.add_option("--rows", options.rows)->delimiter(',')->check(side);
  app.add_option("--columns", options.columns)->delimiter(',')->check(side);
  app.add_option("--ranks", options.ranks)->delimiter(',')->check(CLI::Range(1, 64));
  app.add_option("--ms", options.ms)->check(CLI::Range(1, 60000));
  const auto settle = [&options] {
    if (options.rows.size() != options.columns.size())
      throw plait::tools::Mistake("as many --rows as --columns");
  };
  if (const auto status = plait::tools::parse(app, argc, argv, {"bench_lowrank", kHelp}, settle))
    return *status;
  return run(options);
}
