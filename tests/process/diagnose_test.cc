// What plait-run says of a job whose ranks went different ways.
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>

#include "support/command.h"

namespace plait::test {
namespace {

Command job(const std::string& how, std::vector<std::string> options = {}) {
  std::vector<std::string> words = {required("PLAIT_RUN"), "-n", "4", "--no-prefix", "--grace", "0.2"};
  words.insert(words.end(), options.begin(), options.end());
  words.insert(words.end(), {required("PLAIT_MISBEHAVE"), how});
  return {words, {}, {"PLAIT_DUMP"}, {}};
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// The sentences about the difference, one a line, without the words that all have.
std::string differences(const std::string& err) {
  const std::string begin = "plait-run: communicator 0: ";
  std::string text;
  for (const std::string& line : lines(err)) {
    if (line.starts_with(begin)) text += line.substr(begin.size()) + "\n";
  }
  return text;
}

// Whether all ranks came to where rank 2 goes another way, `seconds` after `start` at the latest.
using Clock = std::chrono::steady_clock;
bool all_came(const Process& p, Clock::time_point start, double seconds) {
  for (;;) {
    const std::vector<std::string> said = lines(p.out());
    if (std::count(said.begin(), said.end(), "here") == 4) return true;
    if (Clock::now() - start > std::chrono::duration<double>(seconds)) return false;
    usleep(5000);
  }
}

// A job that waits for ever, and that plait-run ends after `seconds`. On a busy machine the ranks may come
// too late to be seen there: then again, with more time.
Outcome run_until_timeout(const std::string& how, int seconds, std::vector<std::string> options = {}) {
  for (;; seconds *= 3) {
    std::vector<std::string> all = {"--timeout", std::to_string(seconds)};
    all.insert(all.end(), options.begin(), options.end());
    const Clock::time_point start = Clock::now();
    Process p(job(how, all));
    const bool came = all_came(p, start, seconds / 2.0);
    Outcome o = p.wait(seconds + 60);
    if (came || seconds > 30) return o;
  }
}

const char* const kSum = "allreduce 12 (count=1024, float32, sum, in place, by ";

TEST(Differences, ARankThatSkipsAnOperation) {
  Outcome o = run_until_timeout("skip", 2);
  EXPECT_EQ(o.status, 124);
  const std::string text = differences(o.err);
  EXPECT_TRUE(contains(text, std::string("rank 2 has not started ") + kSum)) << o.err;
  EXPECT_TRUE(contains(text, "; ranks 0-1, 3 wait in it")) << o.err;
}

TEST(Differences, ARankThatCallsSomethingElse) {
  Outcome o = run(job("other"));
  EXPECT_EQ(o.status, 1);
  const std::string text = differences(o.err);
  EXPECT_TRUE(
      contains(text, "under number 12 ranks 0-1, 3 call allreduce(count=1024, float32, sum, in place, by "))
      << o.err;
  EXPECT_TRUE(contains(text, ", rank 2 calls broadcast(count=4, float32, root=1, by ")) << o.err;
  EXPECT_LT(o.err.find("ranks disagree about"), o.err.find("plait-run: communicator"))
      << "the ranks come first";
}

// The others notice, and end, before it does.
TEST(Differences, ARankThatTakesLongToEnd) {
  Outcome o = run(job("leave"));
  EXPECT_EQ(o.status, 7) << o.err;
}

TEST(Differences, ARankThatIsKilled) {
  Outcome o = run(job("die"));
  EXPECT_EQ(o.status, 137);
  const std::string text = differences(o.err);
  EXPECT_TRUE(contains(text, "rank 2 left no record: it was killed by signal 9 (SIGKILL)")) << o.err;
  EXPECT_TRUE(contains(text, "it was last seen to start allreduce 11")) << o.err;
  EXPECT_TRUE(contains(text, std::string("ranks 0-1, 3 are in ") + kSum)) << o.err;
}

TEST(Differences, ARankThatExits) {
  Outcome o = run(job("exit"));
  EXPECT_EQ(o.status, 7);
  EXPECT_TRUE(
      contains(differences(o.err), "rank 2 left no record: it exited with status 7; it was last seen"))
      << o.err;
}

TEST(Differences, ARankThatIsStopped) {
  Outcome o = run_until_timeout("stop", 1);
  EXPECT_EQ(o.status, 124);
  const std::string text = differences(o.err);
  EXPECT_TRUE(
      contains(text,
               "rank 2 left no record: it is stopped (SIGSTOP, or a debugger); it was last seen to start "
               "allreduce 11"))
      << o.err;
}

TEST(Differences, ARankThatComputesForEver) {
  const std::string text = differences(run_until_timeout("compute", 4).err);
  EXPECT_TRUE(contains(text, std::string(" in ") + kSum)) << text;
  EXPECT_TRUE(contains(text, "\nrank 2 has not waited for it: computing, or stuck elsewhere")) << text;
}

TEST(Differences, ARankThatDoesNotCome) {
  Outcome o = run_until_timeout("absent", 1);
  EXPECT_EQ(differences(o.err), "rank 2 has not called plait_comm_create; ranks 0-1, 3 wait in it\n")
      << o.err;
}

TEST(Differences, ARankWithAHandlerOfItsOwnIsAskedOnlyWhenTheUserDoes) {
  Outcome o = run_until_timeout("handle", 3);
  EXPECT_FALSE(contains(o.out, "mine"));
  EXPECT_TRUE(contains(o.err, "rank 2 left no record: its program has a handler of its own for SIGUSR1"))
      << o.err;
  Process p(job("handle", {"--timeout", "90"}));
  ASSERT_TRUE(all_came(p, Clock::now(), 60)) << p.err();
  p.signal(SIGUSR1);
  EXPECT_TRUE(p.wait_for_output("mine"));
  p.signal(SIGTERM);
  (void)p.wait();
}

TEST(Differences, AreSaidOnRequestAndTheJobGoesOn) {
  Process p(job("skip", {"--timeout", "90"}));
  ASSERT_TRUE(all_came(p, Clock::now(), 60)) << p.err();
  for (int i = 0; i < 3 || (i < 60 && !contains(p.err(), "wait in it")); i++) {
    usleep(300'000);
    p.signal(SIGUSR1);
  }
  for (int i = 0; i < 1000 && !contains(p.err(), "wait in it"); i++) usleep(5000);
  EXPECT_TRUE(contains(p.err(), "plait-run: SIGUSR1, asked 4 processes what they are doing\n")) << p.err();
  EXPECT_TRUE(contains(differences(p.err()), std::string("rank 2 has not started ") + kSum)) << p.err();
  p.signal(SIGTERM);
  (void)p.wait();
}

TEST(Differences, RecordsAreKeptOnRequestOnly) {
  char name[] = "/tmp/plait-differences-XXXXXX";
  const std::string folder = std::string(mkdtemp(name)) + "/records";
  Outcome o = run(job("other", {"--dump", folder}));
  EXPECT_TRUE(contains(o.err, "plait-run: the ranks' records are in " + folder + "\n")) << o.err;
  for (int rank = 0; rank < 4; rank++)
    EXPECT_TRUE(std::filesystem::exists(folder + "/plait." + std::to_string(rank) + ".0.json")) << rank;
  std::filesystem::remove_all(name);

  Command shown = job("other");
  shown.words.resize(shown.words.size() - 2);
  shown.words.insert(shown.words.end(), {"sh", "-c", "echo $PLAIT_DUMP"});
  const std::string prefix = lines(run(shown).out).at(0);
  EXPECT_TRUE(contains(prefix, "plait-dump-")) << prefix;
  EXPECT_FALSE(std::filesystem::exists(std::filesystem::path(prefix).parent_path())) << prefix << " was left";
}

TEST(Differences, RecordsOfOtherJobsDoNotCount) {
  char name[] = "/tmp/plait-differences-XXXXXX";
  const std::string folder = mkdtemp(name);
  (void)run(job("other", {"--dump", folder}));
  const std::string text = differences(run_until_timeout("skip", 1, {"--dump", folder}).err);
  EXPECT_FALSE(contains(text, "broadcast")) << text;
  EXPECT_TRUE(contains(text, "rank 2 has not started ")) << text;
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace plait::test
