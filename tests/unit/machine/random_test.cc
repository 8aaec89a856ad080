// Random programs, most of their messages in several pieces: whatever a builder can write, the machine runs.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "collectives/chunkwise.h"
#include "moods.h"
#include "rig.h"

namespace plait::collectives::real::test {
namespace {

// How often each rank's input is in a value.
using Times = std::vector<uint32_t>;

// Programs of all ranks, made by one story in which messages follow each other: so none can deadlock. All
// have an input and an output of every chunk.
class Story {
 public:
  Story(uint64_t seed, int ranks, bool in_place) : random_(seed), ranks_(ranks) {
    chunks_ = 1 + uint32_t(draw(9));
    for (int r = 0; r < ranks; r++) {
      builders_.emplace_back(r, chunks_, Range{0, chunks_}, Range{0, chunks_});
      Times own(size_t(ranks), 0);
      own[size_t(r)] = 1;
      values_.emplace_back(chunks_, own);
    }
    for (uint64_t k = ranks > 1 ? 2 + draw(14) : 0; k > 0; k--) tell();
    for (auto& b : builders_) {
      auto program = b.finish(in_place);
      EXPECT_TRUE(program.ok()) << program.status().text();
      programs_.push_back(std::move(program).value());
      programs_.back().lanes = 2;
    }
  }
  const Program& program(int rank) const { return programs_[size_t(rank)]; }
  const Times& value(int rank, uint32_t chunk) const { return values_[size_t(rank)][chunk]; }
  uint32_t chunks() const { return chunks_; }

 private:
  uint64_t draw(uint64_t below) { return random_() % below; }

  // Ranges that do not overlap, in any order.
  std::vector<Range> some_ranges() {
    std::vector<Range> all;
    for (uint32_t c = 0; c < chunks_;) {
      const uint32_t count = 1 + uint32_t(draw(std::min(3u, chunks_ - c)));
      all.push_back({c, count});
      c += count;
    }
    std::shuffle(all.begin(), all.end(), random_);
    all.resize(1 + draw(all.size()));
    return all;
  }

  void tell() {
    const int from = int(draw(uint64_t(ranks_))), to = (from + 1 + int(draw(uint64_t(ranks_ - 1)))) % ranks_;
    const int lane = int(draw(2));
    Builder &sender = builders_[size_t(from)], &receiver = builders_[size_t(to)];
    const std::vector<Range> list = some_ranges();
    Ranges joined;
    for (Range range : list) joined.add(range);
    auto& have = values_[size_t(to)];
    auto each = [&](auto&& f) {
      for (Range range : list) {
        for (uint32_t c = range.first; c < range.end(); c++) f(have[c], values_[size_t(from)][c]);
      }
    };
    auto add = [](Times& sum, const Times& more) {
      for (size_t q = 0; q < sum.size(); q++) sum[q] += more[q];
    };
    switch (draw(4)) {
      case 0:
        sender.send(to, joined, lane);
        receiver.recv(from, joined, lane);
        return each([](Times& at, const Times& came) { at = came; });
      case 1:
        sender.send(to, joined, lane);
        receiver.recv_reduce(from, joined, lane, draw(2) == 0 ? kSwapped : 0);
        return each(add);
      case 2:
        sender.send(to, list[0], lane);
        receiver.recv_reduce_aside(from, list[0], lane);
        for (uint32_t c = list[0].first; c < list[0].end(); c++) add(have[c], values_[size_t(from)][c]);
        return;
      default:
        return chain(to, list[0], lane);
    }
  }

  // Everybody else sends, `to` folds.
  void chain(int to, Range range, int lane) {
    Builder& b = builders_[size_t(to)];
    std::vector<Place> operands{kNowhere};
    for (int q = 0; q < ranks_; q++) {
      if (q == to) continue;
      builders_[size_t(q)].send(to, range, lane);
      operands.push_back(b.recv_aside(q, range, lane, kChain));
      for (uint32_t c = range.first; c < range.end(); c++) {
        for (size_t i = 0; i < size_t(ranks_); i++) values_[size_t(to)][c][i] += values_[size_t(q)][c][i];
      }
    }
    b.fold_chain(range, operands);
  }

  std::mt19937_64 random_;
  int ranks_;
  uint32_t chunks_;
  std::vector<Builder> builders_;
  std::vector<Program> programs_;
  std::vector<std::vector<Times>> values_;  // of each rank, by chunk
};

uint32_t element(size_t rank, uint64_t i) { return uint32_t((rank + 1) * 2654435761u + i * 40503u); }

struct Mode {
  uint64_t count;
  bool in_place, apart, buffered;
};

Status run_story(const Story& story, const Mode& mode, int ranks, int rank, Rank& r) {
  Call call;
  call.layout = even_layout(mode.count, 4, story.chunks());
  const bool joined = joins(call.layout) && !mode.apart;
  set_segments(call.layout, joined ? SIZE_MAX : 4096);
  auto program_of = [&](int32_t q) { return joined ? story.program(q) : chunkwise(story.program(q)); };
  auto schedule = lower(program_of(rank), program_of);
  if (!schedule.ok()) return schedule.status();
  call.schedule = &*schedule;
  call.fold = fold_kernel(Dtype::uint32, ReduceOp::sum);
  call.buffered = mode.buffered;
  auto* in = reinterpret_cast<uint32_t*>(mode.in_place ? r.output() : r.input());
  const auto* out = reinterpret_cast<const uint32_t*>(r.output());
  for (uint64_t i = 0; i < mode.count; i++) in[i] = element(size_t(rank), i);
  PLAIT_TRY(r.run(call, mode.in_place));
  for (uint64_t i = 0; i < mode.count; i++) {
    const uint32_t chunk = uint32_t(i / call.layout.per_chunk);
    uint32_t want = 0;
    for (size_t q = 0; q < size_t(ranks); q++) want += story.value(rank, chunk)[q] * element(q, i);
    if (out[i] == want) continue;
    return {Code::internal, "element " + std::to_string(i) + " of chunk " + std::to_string(chunk) + " is " +
                                std::to_string(out[i]) + ", not " + std::to_string(want) +
                                (joined ? " joined" : "") + (mode.in_place ? " in place" : "")};
  }
  return {};
}

class RandomPrograms : public testing::TestWithParam<int> {};

TEST_P(RandomPrograms, RunJoinedAndChunkByChunk) {
  const uint64_t base = uint64_t(GetParam());
  for (int ranks : {2, 3, 4}) {
    World setup;
    setup.ranks = ranks;
    setup.fabric = moods(base);
    setup.eager_bytes = eager(base);
    run_ranks(setup, [&](int rank, Rank& r) -> Status {
      std::mt19937_64 random(base);
      for (int k = 0; k < 12; k++) {
        static constexpr uint64_t kCounts[] = {0, 1, 20, 100, 300, 1000, 4000, 10000};
        const uint64_t seed = random();
        const Mode mode{kCounts[random() % std::size(kCounts)], random() % 2 == 0, random() % 3 == 0,
                        random() % 4 == 0};
        const Status status = run_story(Story(seed, ranks, mode.in_place), mode, ranks, rank, r);
        if (!status.ok()) {
          return Status{status.code(), "story " + std::to_string(seed) + " of " + std::to_string(ranks) +
                                           " ranks, " + std::to_string(mode.count) +
                                           " elements: " + std::string(status.text())};
        }
      }
      return {};
    });
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomPrograms, testing::Range(1, 9));

}  // namespace
}  // namespace plait::collectives::real::test
