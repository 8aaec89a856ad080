// Rounds, pictures and traces: their structure.
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "collectives/exchange/svg.h"
#include "collectives/exchange/trace.h"
#include "documents/canvas.h"
#include "documents/xml.h"
#include "unit/exchange/sets.h"

namespace plait::collectives::exchange {
namespace {

using namespace documents;

ProgramSet set_of(Collective collective, std::string_view name, int n) {
  return build_set(*find_algorithm(collective, name), n, 0);
}
Rounds rounds_of(const ProgramSet& set, bool in_place) {
  const auto& programs = set.programs[in_place];
  auto rounds = Rounds::make(programs, programs[0].min_credits);
  EXPECT_TRUE(rounds.ok()) << rounds.status().text();
  return std::move(*rounds);
}

TEST(Rounds, OfTheRing) {
  for (int n = 2; n <= 16; n++) {
    const ProgramSet set = set_of(Collective::allreduce, "ring", n);
    const Rounds rounds = rounds_of(set, false);
    EXPECT_EQ(rounds.count(), uint32_t(2 * (n - 1)));
    EXPECT_EQ(rounds.messages(), uint64_t(2 * n * (n - 1)));
  }
}

// Whatever the algorithm: nobody does two things at once, and everything comes after what it waits for.
TEST(Rounds, KeepOrder) {
  for (const Algorithm& algorithm : algorithms()) {
    for (int n : {1, 2, 5, 8}) {
      if (!algorithm.accepts(n)) continue;
      SCOPED_TRACE(testing::Message() << algorithm.name << " " << name_of(algorithm.collective) << ", " << n);
      const ProgramSet set = build_set(algorithm, n, 0);
      for (bool in_place : {false, true}) {
        const Rounds rounds = rounds_of(set, in_place);
        for (const Program& p : set.programs[in_place]) {
          std::set<std::pair<uint32_t, bool>> busy;
          for (uint32_t i = 0; i < p.steps.size(); i++) {
            const Step& s = p.steps[i];
            const uint32_t at = rounds.of(p.rank, i);
            ASSERT_LT(at, rounds.count());
            for (uint32_t d = p.dep_begin[i]; d < p.dep_begin[i + 1]; d++) {
              const bool chained = (p.steps[p.deps[d]].flags & kChain) != 0 && folds(p.steps[p.deps[d]].op);
              EXPECT_TRUE(rounds.of(p.rank, p.deps[d]) < at ||
                          (chained && rounds.of(p.rank, p.deps[d]) == at));
            }
            if (s.peer < 0) {
              EXPECT_EQ(rounds.match(p.rank, i), UINT32_MAX);
              continue;
            }
            const bool joined = i > 0 && (p.steps[i - 1].flags & kMore) != 0;
            EXPECT_TRUE(busy.insert({at, sends(s.op)}).second || joined);
            const uint32_t other = rounds.match(p.rank, i);
            EXPECT_EQ(set.programs[in_place][size_t(s.peer)].steps[other].peer, p.rank);
            if (receives(s.op)) {
              EXPECT_LE(rounds.of(s.peer, other), at);
            }
          }
        }
      }
    }
  }
}

TEST(Rounds, RefuseWhatDoesNotMeet) {
  ProgramSet set = set_of(Collective::allreduce, "ring", 3);
  set.programs[0][1].steps.pop_back();
  set.programs[0][1].dep_begin.pop_back();
  set.programs[0][1].deps.resize(set.programs[0][1].dep_begin.back());
  EXPECT_FALSE(Rounds::make(set.programs[0], 0).ok());
}

TEST(Rounds, Timing) {
  const ProgramSet set = set_of(Collective::allreduce, "ring", 3);
  const Rounds rounds = rounds_of(set, false);
  const Timing timing = rounds.timing(2.5);
  EXPECT_EQ(timing(0, 0).begin, 0);
  EXPECT_EQ(timing(0, 0).end, 2.5);
  EXPECT_EQ(timing(0, 2).begin, 2.5);
}

// Counts elements by name and class.
class Counter : public XmlHandler {
 public:
  std::string open(const XmlElement& e) override {
    count[std::string(e.name())]++;
    if (const auto css = e.find("class")) count["." + std::string(*css)]++;
    return {};
  }
  std::map<std::string, int> count;
};

std::map<std::string, int> counted(const std::string& svg) {
  Counter counter;
  const Status status = read_xml(svg, "picture.svg", counter);
  EXPECT_TRUE(status.ok()) << status.text();
  return std::move(counter.count);
}

TEST(Svg, OfTheRing) {
  const ProgramSet set = set_of(Collective::allreduce, "ring", 4);
  const auto svg = to_svg(set, false, rounds_of(set, false));
  ASSERT_TRUE(svg.ok()) << svg.status().text();
  auto count = counted(*svg);
  EXPECT_EQ(count["svg"], 1);
  EXPECT_EQ(count[".message"], 24);
  EXPECT_EQ(count[".send"], 24);
  EXPECT_EQ(count[".recv"], 12);
  EXPECT_EQ(count[".recv_reduce"], 12);
  EXPECT_EQ(count[".rank"], 4);
  EXPECT_EQ(count[".title"], 1);
  for (const char* part :
       {">ring allreduce<", ">rank 0<", ">rank 3<", ">round 1<", ">6<", "4 ranks, out of place, 4 chunks",
        "6 rounds, 24 messages", "fits unbuffered delivery", "not in rank order",
        "send chunk 3+1 from input[3] to rank 1 lane 0"}) {
    EXPECT_NE(svg->find(part), std::string::npos) << part;
  }
}

TEST(Svg, EveryAlgorithmIsWellFormed) {
  for (const Algorithm& algorithm : algorithms()) {
    for (int n : {1, 2, 3, 8, 16}) {
      if (!algorithm.accepts(n)) continue;
      const ProgramSet set = build_set(algorithm, n, 0);
      for (bool in_place : {false, true}) {
        const Rounds rounds = rounds_of(set, in_place);
        const auto svg = to_svg(set, in_place, rounds);
        if (!svg.ok()) {
          EXPECT_GT(rounds.count(), kMostRoundsDrawn) << svg.status().text();
          continue;
        }
        auto count = counted(*svg);
        EXPECT_EQ(count[".message"], int(rounds.messages()));
        EXPECT_EQ(count[".rank"], n);
      }
    }
  }
}

TEST(Svg, RefusesWhatNobodyCouldRead) {
  const ProgramSet set = set_of(Collective::broadcast, "star", kMostRanksDrawn + 1);
  expect_refused(to_svg(set, false, rounds_of(set, false)), "65 ranks, 64 rounds", "make a trace",
                 Code::unsupported);
}

TEST(Svg, NamesCannotBreakOut) {
  ProgramSet set = set_of(Collective::allreduce, "ring", 2);
  set.name = "</title><script>\"&\x01";
  const auto svg = to_svg(set, false, rounds_of(set, false));
  ASSERT_TRUE(svg.ok());
  EXPECT_EQ(counted(*svg)["script"], 0);
  EXPECT_NE(svg->find("&lt;/title&gt;&lt;script&gt;&quot;&amp;?"), std::string::npos);
}

TEST(Svg, ColoursOfChunksDiffer) {
  for (uint32_t chunks : {1u, 2u, 4u, 8u, 16u}) {
    std::set<std::string> colours;
    for (uint32_t c = 0; c < chunks; c++) colours.insert(colour_of(c, chunks));
    EXPECT_EQ(colours.size(), chunks);
    for (const std::string& colour : colours) EXPECT_EQ(colour.size(), 7u) << colour;
  }
}

nlohmann::json trace_of(const ProgramSet& set, bool in_place) {
  const Rounds rounds = rounds_of(set, in_place);
  return nlohmann::json::parse(to_trace(set, in_place, rounds, rounds.timing(1)));
}

TEST(Trace, OfTheRing) {
  const auto trace = trace_of(set_of(Collective::allreduce, "ring", 4), false);
  std::map<std::string, int> count;
  std::map<std::string, std::pair<int, int>> arrows;  // sender and receiver
  for (const auto& event : trace["traceEvents"]) {
    const std::string ph = event["ph"];
    count[ph]++;
    if (ph == "s") arrows[event["id"]].first = event["pid"];
    if (ph == "f") arrows[event["id"]].second = event["pid"];
    if (ph == "X") {
      EXPECT_EQ(event["dur"], 1.0);
    }
  }
  EXPECT_EQ(count["X"], 48);
  EXPECT_EQ(count["s"], 24);
  EXPECT_EQ(count["f"], 24);
  ASSERT_EQ(arrows.size(), 24u);
  for (const auto& [id, ends] : arrows) EXPECT_EQ(ends.second, (ends.first + 1) % 4) << id;
}

// Slices of a track must not overlap, whatever the times.
TEST(Trace, TracksDoNotOverlap) {
  for (const Algorithm& algorithm : algorithms()) {
    if (!algorithm.accepts(6)) continue;
    const ProgramSet set = build_set(algorithm, 6, 0);
    const Rounds rounds = rounds_of(set, true);
    const Timing odd = [&](int32_t rank, uint32_t step) {
      const double begin = rounds.of(rank, step);
      return Interval{begin, begin + 1.5 + 0.25 * (step % 3)};
    };
    const auto trace = nlohmann::json::parse(to_trace(set, true, rounds, odd));
    std::map<std::pair<int, int>, double> end;
    std::map<std::pair<int, int>, std::string> names;
    for (const auto& event : trace["traceEvents"]) {
      const std::string ph = event["ph"];
      const auto track = std::pair<int, int>(event["pid"], event.value("tid", -1));
      if (event["name"] == "thread_name") names[track] = event["args"]["name"];
      if (ph != "X") continue;
      EXPECT_GE(double(event["ts"]), end[track] - 1e-6);
      EXPECT_FALSE(names[track].empty());
      end[track] = double(event["ts"]) + double(event["dur"]);
    }
  }
}

}  // namespace
}  // namespace plait::collectives::exchange
