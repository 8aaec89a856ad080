// Programs that are wrong, each in one way, are refused with a sentence that says where.
#include <algorithm>
#include <random>

#include "unit/collectives/programs.h"

namespace plait::collectives {
namespace {

constexpr Goal kAllreduce{Collective::allreduce};

std::vector<Program> ring(int n, bool in_place = false) {
  return programs_of(algorithm(Collective::allreduce, "ring"), n, in_place);
}

// After steps were edited.
void derive_again(Program& program) {
  std::string error = derive_dependencies(program);
  ASSERT_EQ(error, "");
}

// Replaces the dependencies of one step.
void set_deps(Program& p, uint32_t step, const std::vector<uint32_t>& deps) {
  auto begin = p.deps.begin() + p.dep_begin[step], end = p.deps.begin() + p.dep_begin[step + 1];
  auto change = uint32_t(deps.size()) - uint32_t(end - begin);
  p.deps.insert(p.deps.erase(begin, end), deps.begin(), deps.end());
  for (size_t i = step + 1; i < p.dep_begin.size(); i++) p.dep_begin[i] += change;
}

TEST(Broken, DeadlockNamesTheCircle) {
  auto programs = ring(4);
  for (Program& p : programs) set_deps(p, 0, {1});  // the first send waits for the first receive
  expect_refused(prove(kAllreduce, programs),
                 {"deadlock", "rank 0 step 0 (send chunk", "waits for rank 0 step 1 (recv_reduce chunk",
                  "rank 3 step 0"});
}

TEST(Broken, DeadlockBySendingOnWhatIsYetToCome) {
  auto append = [](Builder& b, const Group& g) {
    Place got = b.recv_aside(g.at(g.me + 1), {0, 1});
    b.emit({.op = Op::send, .peer = g.at(g.me + 1), .src = got, .chunk = 0, .count = 1});
  };
  expect_refused(
      prove(kAllreduce, programs_of(Collective::allreduce, 2, 1, false, append)),
      {"deadlock with 1 credits", "rank 0 step 0 (recv chunk 0+1", "waits for rank 1 step 1 (send chunk 0+1",
       "waits for rank 1 step 0 (recv", "waits for rank 0 step 1 (send"});
}

TEST(Broken, DroppedStep) {
  auto programs = ring(4);
  programs[2].steps.erase(programs[2].steps.begin() + 3);
  derive_again(programs[2]);
  // The messages after the missing one meet the wrong ones.
  expect_refused(prove(kAllreduce, programs), {"rank 1 step 2", "rank 2 step 4", "other chunks"});
}

TEST(Broken, DroppedLastReceive) {
  auto programs = ring(4);
  programs[2].steps.pop_back();
  derive_again(programs[2]);
  expect_refused(prove(kAllreduce, programs), {"rank 1 step 10 (send chunk", "no receive meets this send"});
}

TEST(Broken, ExtraSend) {
  auto programs = ring(4);
  programs[1].steps.push_back(programs[1].steps[10]);
  derive_again(programs[1]);
  expect_refused(prove(kAllreduce, programs), {"rank 1 step 12 (send chunk", "no receive meets this send"});
}

TEST(Broken, ReceiveWithoutSend) {
  auto programs = ring(3);
  programs[0].steps.erase(programs[0].steps.begin() + 6);
  derive_again(programs[0]);
  expect_refused(prove(kAllreduce, programs), {"rank 1 step 7 (recv chunk", "no send meets this receive"});
}

TEST(Broken, SwappedChunk) {
  auto programs = ring(4);
  programs[1].steps[2].src.slot ^= 1;
  derive_again(programs[1]);
  expect_refused(prove(kAllreduce, programs),
                 {"rank 1 step 2 (send chunk 3+1", "chunk 3 does not lie in output[2]"});
}

TEST(Broken, ChunkLabelledOtherwiseInScratch) {
  auto append = [](Builder& b, const Group& g) {
    Place t = b.temp();
    b.copy({uint32_t(g.me), 1}, t, b.cur(uint32_t(g.me)));
    b.copy({uint32_t(1 - g.me), 1}, b.home(uint32_t(1 - g.me)), t);
    b.copy({uint32_t(g.me), 1}, b.home(uint32_t(g.me)), t);
    b.settle({0, 2}, b.home(0));
  };
  expect_refused(prove({Collective::allgather}, programs_of(Collective::allgather, 2, 2, false, append)),
                 {"rank 0 step 1 (copy chunk 1+1", "chunk 0 lies in scratch[0], not chunk 1"});
}

TEST(Broken, ContributionTwice) {
  auto append = [](Builder& b, const Group& g) {  // each rank sends both what it has and what it just got
    b.send(g.at(g.me + 1), {0, 1});
    b.recv_reduce_aside(g.at(g.me - 1), {0, 1});
    b.send(g.at(g.me + 1), {0, 1});
    b.recv_reduce_aside(g.at(g.me - 1), {0, 1}, 0, kLast);
  };
  expect_refused(
      prove(kAllreduce, programs_of(Collective::allreduce, 3, 1, false, append)),
      {"rank 1 step 3 (recv_reduce chunk 0+1 from rank 0", "chunk 0 holds rank 0's contribution twice"});
}

TEST(Broken, ContributionMissing) {
  auto append = [](Builder& b, const Group& g) {
    b.send(g.at(g.me + 1), {0, 1});
    b.recv_reduce_aside(g.at(g.me - 1), {0, 1}, 0, kLast);
  };
  expect_refused(prove(kAllreduce, programs_of(Collective::allreduce, 4, 1, false, append)),
                 {"rank 0 step 2 (copy chunk 0+1", "chunk 0 lacks the contribution of ranks 1, 2"});
}

TEST(Broken, OutputNeverWritten) {
  auto programs = ring(1);
  programs[0].steps.clear();
  derive_again(programs[0]);
  expect_refused(prove(kAllreduce, programs), {"rank 0: chunk 0 holds nothing; no step writes it"});
}

TEST(Broken, BarrierThatHearsOfItsNeighbourOnly) {
  auto append = [](Builder& b, const Group& g) {
    b.send(g.at(g.me + 1), {0, 1});
    b.recv_reduce_aside(g.at(g.me - 1), {0, 1});
  };
  expect_refused(prove({Collective::barrier}, programs_of(Collective::barrier, 3, 1, false, append)),
                 {"rank 0 step 2", "chunk 0 lacks the contribution of rank 1"});
}

// Four ranks in two rounds: ((0+1)+(2+3)). The odd one keeps what it got first for last.
void recursive_doubling(Builder& b, const Group& g, bool odd) {
  constexpr Range all{0, 1};
  if (!odd) {
    for (int d : {1, 2}) {
      b.send(g.me ^ d, all);
      b.recv_reduce(g.me ^ d, all, 0, uint8_t((g.me & d ? kSwapped : 0) | (d == 2 ? kLast : 0)));
    }
    return;
  }
  Place own = b.cur(0), first = b.temp(), pair = b.temp(), second = b.temp(), sum = b.temp();
  auto receive = [&](int peer, Place to) {
    b.emit({.op = Op::recv, .peer = peer, .dst = to, .chunk = 0, .count = 1});
  };
  b.send(g.me ^ 1, all);
  receive(g.me ^ 1, first);
  b.reduce(all, pair, first, own);
  b.emit({.op = Op::send, .peer = g.me ^ 2, .src = pair, .chunk = 0, .count = 1});
  receive(g.me ^ 2, second);
  b.reduce(all, sum, second, own);
  b.reduce(all, b.home(0), sum, first, kLast);
  b.settle(all, b.home(0));
}

TEST(Broken, OneRankAssociatesOtherwise) {
  for (bool in_place : {false, true}) {
    auto with = [&](int odd) {
      return programs_of(Collective::allreduce, 4, 1, in_place,
                         [&](Builder& b, const Group& g) { recursive_doubling(b, g, g.me == odd); });
    };
    Proof sound = prove(kAllreduce, with(-1));
    EXPECT_TRUE(sound.status.ok()) << sound.status.text();
    EXPECT_EQ(sound.min_credits, 1);  // the textbook form writes what it is still sending
    EXPECT_TRUE(sound.rank_order);
    expect_refused(prove(kAllreduce, with(3)),
                   {"rank 3 step 6 (reduce chunk 0+1", "associated otherwise than on rank 0",
                    "(((0+1)+3)+2), there ((0+1)+(2+3))"});
  }
}

TEST(Broken, InPlaceWithoutWriteAfterRead) {
  auto programs = ring(4, true);
  Program& p = programs[1];
  for (uint32_t i = 0; i < p.steps.size(); i++) {
    // The receive of the finished chunk over the partial sum that was sent on.
    if (p.steps[i].op != Op::recv || p.dep_begin[i] == p.dep_begin[i + 1]) continue;
    uint32_t reader = p.deps[p.dep_begin[i]];
    ASSERT_EQ(p.steps[reader].op, Op::send);
    set_deps(p, i, {});
    expect_refused(prove(kAllreduce, programs),
                   {describe(p, i), "does not wait for " + describe(p, reader), "which reads it"});
    return;
  }
  FAIL() << "no such dependency";
}

TEST(Broken, AnyDependencyRemoved) {
  for (const Algorithm& algorithm : algorithms()) {
    for (bool in_place : {false, true}) {
      auto programs = programs_of(algorithm, algorithm.accepts(5) ? 5 : 4, in_place);
      for (Program& p : programs) {
        for (uint32_t i = 0; i < p.steps.size(); i++) {
          const Program whole = p;
          std::vector<uint32_t> deps(p.deps.begin() + p.dep_begin[i], p.deps.begin() + p.dep_begin[i + 1]);
          for (size_t without = 0; without < deps.size(); without++) {
            auto rest = deps;
            rest.erase(rest.begin() + std::ptrdiff_t(without));
            set_deps(p, i, rest);
            Proof proof = prove({algorithm.collective}, programs);
            // Some are implied by others.
            if (!proof.status.ok()) expect_refused(proof, {"does not wait for"});
            EXPECT_TRUE(!rest.empty() || !proof.status.ok()) << algorithm.name << " " << describe(p, i);
            p = whole;
          }
        }
      }
    }
  }
}

TEST(Broken, SlotOutOfBounds) {
  auto programs = ring(4);
  programs[2].steps[4].src.slot = 4;
  EXPECT_NE(derive_dependencies(programs[2]).find("rank 2 step 4 (send chunk"), std::string::npos);
  expect_refused(prove(kAllreduce, programs), {"rank 2 step 4 (send chunk", "output[4]+1 is out of bounds"});
}

TEST(Broken, Scaling) {
  auto programs = ring(4);
  programs[1].steps[3].flags |= kLast;
  expect_refused(prove(kAllreduce, programs),
                 {"rank 2 step 5 (recv_reduce chunk", "is folded on after the fold that is"});
  programs = ring(4);
  programs[1].steps[5].flags = 0;
  expect_refused(prove(kAllreduce, programs), {"rank 0", "chunk 1 is never scaled by avg"});
}

TEST(Broken, ChainValueReadByAnotherStep) {
  auto programs = programs_of(algorithm(Collective::allreduce, "direct"), 4, false);
  Program& p = programs[1];
  auto fold = std::find_if(p.steps.begin(), p.steps.end(), [](const Step& s) { return s.op == Op::reduce; });
  Step send = p.steps[0];
  send.src = fold->dst, send.chunk = fold->chunk, send.lane = 1;
  auto at = uint32_t(fold - p.steps.begin() + 1);
  p.steps.insert(fold + 1, send);
  derive_again(p);
  Step receive{.op = Op::recv, .lane = 1, .peer = 1, .dst = place(Buffer::output, 1), .chunk = 1, .count = 1};
  Program& q = programs[size_t(send.peer)];
  q.steps.insert(q.steps.begin(), receive);
  derive_again(q);
  expect_refused(prove(kAllreduce, programs),
                 {describe(p, at), "reads a value inside the chain of", describe(p, at - 1)});
}

TEST(Broken, OrderOfRanksClaimed) {
  auto programs = ring(4);
  programs[3].rank_order = true;
  expect_refused(prove(kAllreduce, programs), {"rank 3 says that its program keeps the order of ranks"});
}

TEST(Broken, SelfAndStrangers) {
  auto programs = ring(3);
  programs[1].steps[2].peer = 1;
  expect_refused(prove(kAllreduce, programs), {"rank 1 step 2", "its own peer"});
  programs[1].steps[2].peer = 3;
  expect_refused(prove(kAllreduce, programs), {"rank 1 step 2", "no such peer, there are 3 ranks"});
}

TEST(Broken, WrongBuffers) {
  auto programs = programs_of(algorithm(Collective::reduce_scatter, "ring"), 3, false);
  programs[0].steps[1].dst = place(Buffer::output, programs[0].steps[1].chunk);
  expect_refused(prove({Collective::reduce_scatter}, programs),
                 {"rank 0 step 1 (recv_reduce", "has no output"});
  programs[0].steps[1].dst = place(Buffer::input, programs[0].steps[1].chunk);
  expect_refused(prove({Collective::reduce_scatter}, programs),
                 {"rank 0 step 1 (recv_reduce", "writes its input"});
}

TEST(Broken, DependenciesThatAreNoLists) {
  auto programs = ring(3);
  programs[2].deps.back() = 1000;
  expect_refused(prove(kAllreduce, programs), {"rank 2: its dependencies are not lists of its steps"});
  programs[2].dep_begin.clear();
  expect_refused(prove(kAllreduce, programs), {"rank 2: its dependencies"});
}

TEST(Broken, ProgramsOfDifferentCalls) {
  auto programs = ring(3);
  programs[1] = algorithm(Collective::allreduce, "ring").build(3, 1, 0, true);
  expect_refused(prove(kAllreduce, programs), {"rank 1", "in place"});
  programs[1] = programs[2];
  expect_refused(prove(kAllreduce, programs), {"program 1 is that of rank 2"});
  EXPECT_FALSE(prove(kAllreduce, {}).status.ok());
}

// A program damaged at random is refused, or is still right; nothing crashes.
TEST(Broken, AtRandom) {
  unsigned seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  auto below = [&](size_t limit) { return uint32_t(random() % limit); };
  int refused = 0;
  constexpr int kTries = 2000;
  for (int i = 0; i < kTries; i++) {
    const Algorithm& algorithm = algorithms()[below(algorithms().size())];
    int n = 2 + int(below(5));
    if (!algorithm.accepts(n)) continue;
    auto programs = programs_of(algorithm, n, below(2) == 1);
    Program& p = programs[below(programs.size())];
    if (p.steps.empty()) continue;
    Step& step = p.steps[below(p.steps.size())];
    switch (below(8)) {
      case 0:
        step.op = Op(below(8));
        break;
      case 1:
        step.flags ^= uint8_t(1u << below(4));
        break;
      case 2:
        step.peer = int(below(8)) - 1;
        break;
      case 3:
        step.dst = place(Buffer(below(5)), below(6));
        break;
      case 4:
        step.src = place(Buffer(below(5)), below(6));
        break;
      case 5:
        step.chunk = below(6);
        break;
      case 6:
        step.count = below(3);
        break;
      default:
        std::swap(step, p.steps[below(p.steps.size())]);
    }
    if (below(2) == 1 && !derive_dependencies(p).empty()) continue;
    Proof proof = prove({algorithm.collective}, programs);
    if (proof.status.ok()) continue;
    refused++;
    EXPECT_NE(proof.status.code(), Code::internal) << proof.status.text();
    EXPECT_NE(proof.status.text().find("rank "), std::string_view::npos) << proof.status.text();
  }
  EXPECT_GT(refused, kTries / 4);
}

}  // namespace
}  // namespace plait::collectives
