// Every program of the table, run by the real machine over the fake fabric in all its moods, every element
// checked.
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "rig.h"

namespace plait::collectives::real::test {
namespace {

struct Job {
  const Algorithm* algorithm;
  int ranks, root;
  uint64_t count;
  bool in_place;
};

// Weighed by rank, so that a missing, doubled or misplaced contribution shows; small, so that sums are exact.
float value(int rank, uint64_t i) { return float((rank + 1) * int(1 + (i * 7 + uint64_t(rank) * 13) % 11)); }

float sum(int ranks, uint64_t i) {
  float s = 0;
  for (int r = 0; r < ranks; r++) s += value(r, i);
  return s;
}

Layout layout_of(const Job& j, int rank, const Schedule& s, size_t segment_bytes) {
  const bool scattered = j.algorithm->collective == Collective::reduce_scatter;
  const bool gathered = j.algorithm->collective == Collective::allgather;
  Layout layout =
      even_layout(j.algorithm->collective == Collective::barrier ? 0 : j.count, 4, s.program.chunks);
  if (scattered || gathered) {
    layout = {.element_bytes = 4, .elements = j.count * uint64_t(j.ranks), .per_chunk = j.count};
    (scattered ? layout.output_first : layout.input_first) = uint64_t(rank) * j.count;
  }
  set_segments(layout, segment_bytes);
  return layout;
}

uint64_t inputs(const Job& j) {
  return j.algorithm->collective == Collective::reduce_scatter ? j.count * uint64_t(j.ranks) : j.count;
}

// In place, a rank's share lies in the whole buffer where it belongs.
void place_in(const Job& j, Call& call) {
  if (!j.in_place) return;
  if (j.algorithm->collective == Collective::allgather) call.layout.input_first = 0;
  if (j.algorithm->collective == Collective::reduce_scatter) call.layout.output_first = 0;
}

void fill(const Job& j, int rank, Rank& r) {
  auto* in = reinterpret_cast<float*>(j.in_place ? r.output() : r.input());
  auto* out = reinterpret_cast<float*>(r.output());
  if (!j.in_place) std::fill_n(out, Rank::kRoom / 4, -1.0f);
  const bool gathered = j.algorithm->collective == Collective::allgather;
  float* at = in + (j.in_place && gathered ? size_t(rank) * j.count : 0);
  for (uint64_t i = 0; i < inputs(j); i++) at[i] = value(rank, i);
}

Status check(const Job& j, int rank, Rank& r) {
  const auto* out = reinterpret_cast<const float*>(r.output());
  const Collective c = j.algorithm->collective;
  if (c == Collective::barrier) return {};
  if (c == Collective::reduce_scatter && j.in_place) out += size_t(rank) * j.count;
  const uint64_t outputs = c == Collective::allgather ? j.count * uint64_t(j.ranks) : j.count;
  for (uint64_t i = 0; i < outputs; i++) {
    float want = 0;
    if (c == Collective::allreduce) want = sum(j.ranks, i);
    if (c == Collective::reduce_scatter) want = sum(j.ranks, uint64_t(rank) * j.count + i);
    if (c == Collective::allgather) want = value(int(i / j.count), i % j.count);
    if (c == Collective::broadcast) want = value(j.root, i);
    if (out[i] != want) {
      return {Code::internal, std::string(name_of(c)) + " by " + std::string(j.algorithm->name) +
                                  ", n=" + std::to_string(j.ranks) + " count=" + std::to_string(j.count) +
                                  (j.in_place ? " in place" : "") + ": element " + std::to_string(i) +
                                  " is " + std::to_string(out[i]) + ", not " + std::to_string(want)};
    }
  }
  return {};
}

Status run_job(const Job& j, int rank, Rank& r, size_t segment_bytes) {
  auto build = [&](int32_t q) { return j.algorithm->build(j.ranks, q, j.root, j.in_place); };
  auto schedule = lower(build(rank), build);
  if (!schedule.ok()) return schedule.status();
  Call call;
  call.schedule = &*schedule;
  call.layout = layout_of(j, rank, *schedule, segment_bytes);
  place_in(j, call);
  call.fold = fold_kernel(Dtype::float32, ReduceOp::sum);
  call.same_outputs = j.algorithm->collective != Collective::reduce_scatter;
  call.buffered = schedule->program.min_credits > 0;
  fill(j, rank, r);
  PLAIT_TRY(r.run(call, j.in_place));
  return check(j, rank, r);
}

// A random sequence of jobs, the same on every rank.
void run_sequence(const World& setup, uint64_t seed, int jobs) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  run_ranks(setup, [&](int rank, Rank& r) -> Status {
    std::mt19937_64 random(seed);
    for (int k = 0; k < jobs; k++) {
      const auto table = algorithms();
      Job j{&table[random() % table.size()], setup.ranks, int(random() % uint64_t(setup.ranks)), 0,
            random() % 2 == 0};
      static constexpr uint64_t kCounts[] = {0, 1, 2, 7, 14, 15, 100, 255, 256, 257, 3000, 4096, 20000};
      j.count = kCounts[random() % std::size(kCounts)];
      const size_t segment = random() % 2 == 0 ? 4096 : kSegmentBytes;
      if (!j.algorithm->accepts(j.ranks)) continue;
      PLAIT_TRY(run_job(j, rank, r, segment));
    }
    return {};
  });
}

transport::fake::FakeOptions moods(uint64_t seed) {
  transport::fake::FakeOptions o;
  o.seed = seed;
  o.mapped = seed % 2 == 0;
  o.reorder = seed % 3 != 0;
  o.delay_max = uint32_t(seed % 5) * 4;
  return o;
}

class MachineOnFake : public testing::TestWithParam<int> {};

TEST_P(MachineOnFake, RunsEveryProgram) {
  const uint64_t seed = uint64_t(GetParam());
  for (int ranks : {1, 2, 3, 4, 5, 8}) {
    World setup{.ranks = ranks, .fabric = moods(seed)};
    run_sequence(setup, seed * 100 + uint64_t(ranks), 25);
  }
}

TEST_P(MachineOnFake, MixesMemoryThatPeersMapWithMemoryTheyDoNot) {
  const uint64_t seed = uint64_t(GetParam());
  World setup{.ranks = 4, .fabric = moods(2 * seed)};
  setup.shared = [](int rank) {
    return rank == 0 ? Shared::none : rank == 1 ? Shared::output_only : Shared::input_and_output;
  };
  run_sequence(setup, seed * 1000, 40);
}

// Ranks of one host, some of which have peers on another: these run no round where the others run one.
TEST_P(MachineOnFake, MixesRanksThatRunARoundWithRanksThatDoNot) {
  const uint64_t seed = uint64_t(GetParam());
  World setup{.ranks = 4, .fabric = moods(2 * seed)};
  setup.network = [&](int rank) { return (seed >> (rank % 3) & 1) != 0; };
  run_sequence(setup, seed * 2000, 60);
}

// Messages of 256 KiB fill windows over and over, with credit that messages carry and credit by itself in
// turn; the program that sends all before it receives needs it for whole messages.
TEST_P(MachineOnFake, FillsWindowsOverAndOver) {
  const uint64_t seed = uint64_t(GetParam());
  World setup{.ranks = 2, .fabric = moods(2 * seed + 1)};
  run_ranks(setup, [&](int rank, Rank& r) -> Status {
    for (int k = 0; k < 8; k++) {
      const char* name = k % 3 == 2 ? "direct" : "all_to_all";
      const Job j{find_algorithm(Collective::allreduce, name), 2, 0, k % 4 == 3 ? 500u : 65536u, true};
      PLAIT_TRY(run_job(j, rank, r, kSegmentBytes));
    }
    return {};
  });
}

INSTANTIATE_TEST_SUITE_P(Seeds, MachineOnFake, testing::Range(1, 7));

}  // namespace
}  // namespace plait::collectives::real::test
