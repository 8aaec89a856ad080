// plait-run as its users meet it.
#include <gtest/gtest.h>
#include <pty.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <set>
#include <sstream>

#include "support/command.h"

namespace plait::test {
namespace {

Command plait_run(std::vector<std::string> words) {
  words.insert(words.begin(), required("PLAIT_RUN"));
  return {words, {}, {}, {}};
}

// Each rank runs a shell script.
Command shell(std::vector<std::string> options, const std::string& script) {
  options.insert(options.end(), {"sh", "-c", script});
  return plait_run(options);
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

bool is_running(pid_t pid) { return kill(pid, 0) == 0; }

// A process that was told to end may take a moment.
bool ends_soon(pid_t pid) {
  for (int i = 0; i < 1000 && is_running(pid); ++i) usleep(5000);
  return !is_running(pid);
}

TEST(PlaitRun, EndsWithZeroWhenAllRanksDo) {
  Outcome o = run(shell({"-n", "3"}, "true"));
  EXPECT_EQ(o.status, 0);
  EXPECT_EQ(o.out + o.err, "");
}

TEST(PlaitRun, SetsTheVariablesOfTorchrunForEachRank) {
  Outcome o = run(shell({"-n", "3", "--no-prefix"},
                        "echo $RANK $WORLD_SIZE $LOCAL_RANK $LOCAL_WORLD_SIZE $GROUP_RANK $MASTER_ADDR"));
  std::vector<std::string> got = lines(o.out);
  std::sort(got.begin(), got.end());
  EXPECT_EQ(got,
            (std::vector<std::string>{"0 3 0 3 0 127.0.0.1", "1 3 1 3 0 127.0.0.1", "2 3 2 3 0 127.0.0.1"}));
}

TEST(PlaitRun, GivesAllRanksOneJobOnePortOneSecret) {
  Command c = shell({"-n", "4", "--no-prefix"}, "echo $PLAIT_JOB $MASTER_PORT $PLAIT_SECRET_FILE");
  std::vector<std::string> first = lines(run(c).out), second = lines(run(c).out);
  ASSERT_EQ(first.size(), 4u);
  EXPECT_EQ(std::set<std::string>(first.begin(), first.end()).size(), 1u);
  ASSERT_EQ(second.size(), 4u);
  EXPECT_NE(first[0].substr(0, 32), second[0].substr(0, 32)) << "two jobs must not have one name";
  EXPECT_EQ(first[0].substr(0, 32).find_first_not_of("0123456789abcdef"), std::string::npos);
}

TEST(PlaitRun, TellsRank0OfTheTerminal) {
  const std::string script = "echo $RANK:$PLAIT_TERMINAL:";
  EXPECT_EQ(run(shell({"--no-prefix"}, script)).out, "0::\n") << "there is none";

  const std::string program = required("PLAIT_RUN");
  int terminal = -1;
  const pid_t child = forkpty(&terminal, nullptr, nullptr, nullptr);
  if (child == 0) {
    alarm(60);
    execl(program.c_str(), program.c_str(), "-n", "2", "--no-prefix", "sh", "-c", script.c_str(), nullptr);
    _exit(127);
  }
  if (child < 0) GTEST_SKIP() << "no terminal can be made here";
  std::string text;
  char buffer[512];
  for (ssize_t n; (n = read(terminal, buffer, sizeof buffer)) > 0;) text.append(buffer, size_t(n));
  close(terminal);
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(contains(text, "0:/dev/")) << text;
  EXPECT_TRUE(contains(text, "1::")) << text;
}

TEST(PlaitRun, SecretIsForThisUserOnlyAndRemovedAtTheEnd) {
  Outcome o = run(shell({"--no-prefix"}, "stat -c '%a %s %n' \"$PLAIT_SECRET_FILE\""));
  ASSERT_EQ(o.out.substr(0, 7), "600 32 ") << o.out << o.err;
  std::string path = lines(o.out)[0].substr(7);
  EXPECT_NE(access(path.c_str(), F_OK), 0) << path << " was left behind";
}

TEST(PlaitRun, SecretIsRemovedWhenInterrupted) {
  Process p(shell({"--no-prefix"}, "echo $PLAIT_SECRET_FILE; exec sleep 60"));
  ASSERT_TRUE(p.wait_for_output("\n"));
  std::string path = lines(p.out())[0];
  EXPECT_EQ(access(path.c_str(), F_OK), 0);
  p.signal(SIGTERM);
  p.wait();
  EXPECT_NE(access(path.c_str(), F_OK), 0) << path << " was left behind";
}

TEST(PlaitRun, PrefixesEachLineByItsRank) {
  Outcome o = run(shell({"-n", "2"}, "echo out $RANK; echo err $RANK >&2; echo; printf unfinished"));
  std::vector<std::string> got = lines(o.out);
  std::sort(got.begin(), got.end());
  EXPECT_EQ(got, (std::vector<std::string>{"[0] ", "[0] out 0", "[0] unfinished", "[1] ", "[1] out 1",
                                           "[1] unfinished"}));
  EXPECT_TRUE(contains(o.err, "[1] err 1\n")) << o.err;
}

TEST(PlaitRun, ShowsOutputOfChosenRanksOnlyButAllErrors) {
  Outcome o = run(shell({"-n", "4", "--output", "0,2", "--prefix", "none"}, "echo $RANK; echo e$RANK >&2"));
  std::vector<std::string> out = lines(o.out), err = lines(o.err);
  std::sort(out.begin(), out.end());
  EXPECT_EQ(out, (std::vector<std::string>{"0", "2"}));
  EXPECT_EQ(err.size(), 4u);
}

TEST(PlaitRun, KeepsEveryLineOfManyRanksWhole) {
  Outcome o =
      run(shell({"-n", "8"}, "i=0; while [ $i -lt 1000 ]; do echo line $i of rank $RANK; i=$((i+1)); done"));
  EXPECT_EQ(o.status, 0);
  std::map<std::string, int> next;
  for (const std::string& line : lines(o.out)) {
    std::string rank = line.substr(1, 1);
    ASSERT_EQ(line, "[" + rank + "] line " + std::to_string(next[rank]++) + " of rank " + rank);
  }
  EXPECT_EQ(next.size(), 8u);
  for (auto& [rank, count] : next) EXPECT_EQ(count, 1000) << rank;
}

TEST(PlaitRun, CutsALineThatNeverEnds) {
  Outcome o = run(shell({}, "head -c 1000000 /dev/zero | tr '\\0' x"));
  EXPECT_EQ(o.status, 0);
  EXPECT_EQ(std::count(o.out.begin(), o.out.end(), 'x'), 1000000);
}

TEST(PlaitRun, GivesStdinToRankZeroOnly) {
  Command c = shell({"-n", "3"}, "cat; echo end");
  c.input = "hello\n";
  std::vector<std::string> got = lines(run(c).out);
  std::sort(got.begin(), got.end());
  EXPECT_EQ(got, (std::vector<std::string>{"[0] end", "[0] hello", "[1] end", "[2] end"}));
}

// One session, for Linux may share cores by session; but a process group each, and not plait-run's session.
TEST(PlaitRun, StartsAllRanksInOneSessionOfTheirOwn) {
  Outcome o =
      run(shell({"-n", "3", "--prefix", "none"}, "cut -d' ' -f4-6 /proc/$$/stat"));  // parent, group, session
  const std::vector<std::string> ranks = lines(o.out);
  ASSERT_EQ(ranks.size(), 3u) << o.out << o.err;
  std::set<std::string> parents, groups, sessions;
  for (const std::string& rank : ranks) {
    std::istringstream text(rank);
    std::string parent, group, session;
    text >> parent >> group >> session;
    parents.insert(parent), groups.insert(group), sessions.insert(session);
  }
  EXPECT_EQ(parents.size(), 1u) << "all are children of plait-run";
  EXPECT_EQ(groups.size(), 3u);
  ASSERT_EQ(sessions.size(), 1u);
  EXPECT_NE(*sessions.begin(), std::to_string(getsid(0)));
}

TEST(PlaitRun, TakesTheStatusOfTheRankThatFailed) {
  Outcome o = run(shell({"-n", "3"}, "test $RANK != 2 || exit 7; exec sleep 60"));
  EXPECT_EQ(o.status, 7);
  EXPECT_EQ(o.err, "plait-run: rank 2 exited with status 7\n");
  EXPECT_FALSE(o.timed_out);
}

TEST(PlaitRun, NamesTheSignalThatKilledARank) {
  Outcome o = run(shell({"-n", "4"}, "test $RANK != 3 || kill -9 $$; exec sleep 60"));
  EXPECT_EQ(o.status, 137);
  EXPECT_EQ(o.err, "plait-run: rank 3 was killed by signal 9 (SIGKILL)\n");
}

TEST(PlaitRun, TellsWhatARankSaidBeforeItsEnd) {
  Outcome o = run(shell({}, "echo last words >&2; exit 3"));
  EXPECT_EQ(o.err, "[0] last words\nplait-run: rank 0 exited with status 3\n");
}

TEST(PlaitRun, KillsWhatIgnoresSigtermAfterTheGrace) {
  Outcome o = run(shell({"-n", "2", "--grace", "0.2"},
                        "test $RANK != 1 || { sleep 0.3; exit 5; }; trap '' TERM; sleep 60; sleep 60"));
  EXPECT_EQ(o.status, 5);
  EXPECT_TRUE(contains(o.err, "rank 0 did not end within 0.2 s; killing it")) << o.err;
}

TEST(PlaitRun, KeepGoingLetsTheOthersFinish) {
  Outcome o = run(shell({"-n", "2", "--keep-going"}, "test $RANK != 1 || exit 4; sleep 0.3; echo finished"));
  EXPECT_EQ(o.status, 4);
  EXPECT_EQ(o.out, "[0] finished\n");
}

TEST(PlaitRun, TimeoutEndsAllRanks) {
  Outcome o = run(shell({"-n", "2", "--timeout", "0.3"}, "exec sleep 60"));
  EXPECT_EQ(o.status, 124);
  EXPECT_EQ(o.err, "plait-run: 2 of 2 ranks still running after --timeout 0.3 s; ending them\n");
}

TEST(PlaitRun, PassesSignalsOn) {
  Process p(shell({"-n", "2"}, "trap 'echo got it; exit 0' INT; echo ready; while :; do sleep 0.05; done"));
  ASSERT_TRUE(p.wait_for_output("[0] ready"));
  ASSERT_TRUE(p.wait_for_output("[1] ready"));
  p.signal(SIGINT);
  Outcome o = p.wait();
  EXPECT_EQ(o.status, 0) << o.err;
  EXPECT_TRUE(contains(o.out, "[0] got it\n") && contains(o.out, "[1] got it\n")) << o.out;
}

TEST(PlaitRun, ASecondSignalKills) {
  Process p(shell({}, "trap '' INT; echo ready; while :; do sleep 0.05; done"));
  ASSERT_TRUE(p.wait_for_output("ready"));
  p.signal(SIGINT);
  while (!contains(p.err(), "passed on")) usleep(5000);
  p.signal(SIGINT);
  EXPECT_EQ(p.wait(20).status, 137);
}

TEST(PlaitRun, LeavesNothingRunning) {
  Process p(shell({}, "sleep 60 & echo $!; exit 0"));
  Outcome o = p.wait(20);
  EXPECT_EQ(o.status, 0);
  ASSERT_EQ(o.out.substr(0, 4), "[0] ");
  EXPECT_TRUE(ends_soon(std::stoi(o.out.substr(4))));
}

TEST(PlaitRun, RanksDieWithTheirLauncher) {
  Process p(shell({"--no-prefix"}, "echo $$; rm \"$PLAIT_SECRET_FILE\"; echo ready; exec sleep 60"));
  ASSERT_TRUE(p.wait_for_output("ready"));
  pid_t rank = std::stoi(p.out());
  EXPECT_TRUE(is_running(rank));
  p.signal(SIGKILL);
  p.wait();
  EXPECT_TRUE(ends_soon(rank));
}

TEST(PlaitRun, EndsWhenNobodyReads) {
  Command c{{"sh", "-c", required("PLAIT_RUN") + " -n 2 yes | head -n 1"}, {}, {}, {}};
  Outcome o = run(c, 20);
  EXPECT_FALSE(o.timed_out);
  EXPECT_EQ(lines(o.out).size(), 1u);
}

TEST(PlaitRun, SaysThatThereIsNoSuchProgram) {
  Outcome o = run(plait_run({"-n", "2", "no-such-program"}));
  EXPECT_EQ(o.status, 127);
  EXPECT_TRUE(contains(o.err, "cannot run 'no-such-program': No such file or directory")) << o.err;
  EXPECT_EQ(run(plait_run({"/dev/null"})).status, 126);
}

TEST(PlaitRun, LeavesTheProgramItsOwnOptions) {
  EXPECT_EQ(run(plait_run({"--no-prefix", "echo", "-n", "--help", "x"})).out, "--help x\n");
  EXPECT_EQ(run(plait_run({"--no-prefix", "--", "echo", "--", "y"})).out, "-- y\n");
}

TEST(PlaitRun, ExplainsMistakes) {
  const std::pair<std::vector<std::string>, std::string> mistakes[] = {
      {{"-n", "0", "true"}, "1 to 4096"},        {{"-n", "4097", "true"}, "1 to 4096"},
      {{"-n", "two", "true"}, "--ranks"},        {{"-n"}, "--ranks"},
      {{"-n", "2"}, "no program given"},         {{"--bogus", "true"}, "--bogus"},
      {{"--prefix", "all", "true"}, "--prefix"}, {{"-n", "2", "--output", "2", "true"}, "ranks are 0 to 1"},
      {{"--timeout", "-1", "true"}, "--timeout"}};
  for (const auto& [words, part] : mistakes) {
    Outcome o = run(plait_run(words));
    EXPECT_EQ(o.status, 2) << part;
    EXPECT_TRUE(contains(o.err, part)) << o.err;
    EXPECT_TRUE(contains(o.err, "Try: plait-run --help")) << o.err;
  }
}

TEST(PlaitRun, HelpFitsAScreen) {
  Outcome o = run(plait_run({"--help"}));
  EXPECT_EQ(o.status, 0);
  EXPECT_LE(lines(o.out).size(), 30u);
  for (const std::string& line : lines(o.out)) EXPECT_LE(line.size(), 80u) << line;
  EXPECT_TRUE(contains(o.out, "Examples:"));
}

}  // namespace
}  // namespace plait::test
