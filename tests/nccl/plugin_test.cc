// plait's own plugin keeps the contract, over what every machine has: TCP on loopback, and shared memory. And
// what the test with real NCCL says where that cannot run.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "support/command.h"

namespace plait::test {
namespace {

Outcome drive(const std::string& network, std::vector<std::string> words) {
  words.insert(words.begin(), {required("NCCL_NET_DRIVE"), required("NCCL_NET_PLAIT"), "--json"});
  return run({words, {{"PLAIT_NETWORK", network}, {"PLAIT_IFACE", "lo"}}, {}, {}}, 150);
}

class Plugin : public testing::TestWithParam<const char*> {};

// Of a device's memory there is nothing to exercise; all else passes.
void expect_kept(const std::string& network, const std::string& version, std::vector<std::string> words) {
  words.insert(words.end(), {"--net-version", version});
  const Outcome o = drive(network, words);
  ASSERT_EQ(o.status, 0) << o.out << o.err;
  const auto json = nlohmann::json::parse(o.out);
  EXPECT_EQ(std::to_string(json["version"].get<int>()), version);
  EXPECT_GT(json["bytes"].get<uint64_t>(), uint64_t{50} << 20);
  for (const auto& check : json["checks"]) {
    const std::string what = check["what"], why = check.value("why", "");
    EXPECT_NE(check["verdict"], "FAIL") << what << ": " << why;
    const bool excused = why.find("ptrSupport") != why.npos || why.find("before version") != why.npos;
    if (check["verdict"] != "pass") {
      EXPECT_TRUE(excused) << what << ": " << why;
    }
  }
}

void expect_scripts(const std::string& network, uint64_t scripts, std::vector<std::string> words) {
  words.insert(words.end(), {"--script", "1", "--count", std::to_string(scripts)});
  const Outcome o = drive(network, words);
  ASSERT_EQ(o.status, 0) << o.out << o.err;
  const auto json = nlohmann::json::parse(o.out);
  EXPECT_EQ(json["done"].get<uint64_t>(), scripts);
  EXPECT_GT(json["bytes"].get<uint64_t>(), uint64_t{1} << 20);
}

#ifdef PLAIT_SANITIZED
constexpr uint64_t kScripts = 40;
#else
constexpr uint64_t kScripts = 300;
#endif

TEST_P(Plugin, KeepsTheContract) {
  for (const char* version : {"8", "10", "12"}) expect_kept(GetParam(), version, {});
}

TEST_P(Plugin, RunsScripts) { expect_scripts(GetParam(), kScripts, {}); }

// Whose connections have several rails.
TEST(PluginOfVirtualDevices, KeepsTheContract) {
  for (const char* version : {"9", "12"}) expect_kept("tcp:lo,tcp:lo", version, {"--virtual", "2"});
}

TEST(PluginOfVirtualDevices, RunsScripts) {
  expect_scripts("tcp:lo,tcp:lo,tcp:lo", kScripts, {"--virtual", "3"});
}

// No error, no leak. It reads all of the arena of shared memory, which the limit of file sizes keeps small.
TEST_P(Plugin, RunsScriptsUnderValgrind) {
#ifdef PLAIT_SANITIZED
  GTEST_SKIP() << "valgrind does not run what a sanitizer made";
#endif
  if (run({{"sh", "-c", "command -v valgrind"}, {}, {}, {}}).status != 0)
    GTEST_SKIP() << "no valgrind here (Debian package valgrind)";
  const std::string line =
      "ulimit -f 65536; exec valgrind --vgdb=no -q --leak-check=full --error-exitcode=99 \"$0\" \"$@\"";
  const Outcome o = run({{"bash", "-c", line, required("NCCL_NET_DRIVE"), required("NCCL_NET_PLAIT"),
                          "--script", "1", "--count", "50", "--timeout", "60"},
                         {{"PLAIT_NETWORK", GetParam()}, {"PLAIT_IFACE", "lo"}},
                         {},
                         {}},
                        150);
  EXPECT_EQ(o.status, 0) << o.out << o.err;
  EXPECT_NE(o.out.find("50 scripts from seed 1: pass"), std::string::npos) << o.out;
  EXPECT_EQ(o.err.find("== "), std::string::npos) << o.err;
}

// Where sockets take little at a time, the last message of a connection must not wait here for a poll.
TEST(PluginOverTcp, WithSmallBuffers) {
  const Outcome o =
      drive("tcp?send_buffer=4K+receive_buffer=4K", {"--script", "1000", "--count", "40", "--timeout", "5"});
  EXPECT_EQ(o.status, 0) << o.out << o.err;
}

INSTANTIATE_TEST_SUITE_P(Networks, Plugin, testing::Values("tcp", "shm"),
                         [](const auto& one) { return std::string(one.param); });

Outcome real(const std::string& library) {
  return run({{required("NCCL_REAL"), required("NCCL_NET_PLAIT"), library}, {}, {}, {}});
}

TEST(RealNccl, IsSkippedWhereItIsNot) {
  const Outcome o = real("libnccl-that-is-nowhere.so");
  EXPECT_EQ(o.status, 77);
  EXPECT_EQ(o.out.find("skipped: no NCCL here: libnccl-that-is-nowhere.so"), 0u) << o.out;
}

TEST(RealNccl, IsSkippedWhereItIsTooOld) {
  const Outcome o = real(required("NCCL_OLD"));
  EXPECT_EQ(o.status, 77);
  EXPECT_EQ(o.out.find("skipped: NCCL 21905 is older than 2.20.3"), 0u) << o.out;
}

}  // namespace
}  // namespace plait::test
