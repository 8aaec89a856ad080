// plait_write_bw and its like as their users meet them: a server, a client, and what goes wrong between them.
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "support/command.h"
#include "support/pod.h"

namespace plait::test {
namespace {

using Words = std::vector<std::string>;

const Words kTools = {"write_bw", "write_lat", "read_bw", "read_lat", "send_bw", "send_lat"};

bool contains(const std::string& text, const std::string& part) { return text.find(part) != text.npos; }
bool measures_bandwidth(const std::string& tool) { return tool.ends_with("bw"); }

Command command(const std::string& tool, const Words& words) {
  Command c{{required("PLAIT_PAIR_TOOLS") + "/plait_" + tool},
            {},
            {"PLAIT_SECRET_FILE", "PLAIT_IFACE", "PLAIT_PORTS"},
            {}};
  c.words.insert(c.words.end(), words.begin(), words.end());
  return c;
}

// A server at a port of the kernel's choice, which its clients are told.
class Server {
 public:
  Server(std::string tool, Words words) : tool_(std::move(tool)), words_(std::move(words)) {
    Words at = words_;
    at.insert(at.end(), {"-p", "0"});
    process_ = std::make_unique<Process>(command(tool_, at));
    EXPECT_TRUE(process_->wait_for_output(" Port ")) << process_->out() << process_->err();
    const std::string out = process_->out();
    const size_t at_port = out.find(": ", out.find(" Port "));
    port_ = at_port == out.npos ? "1" : std::to_string(std::atoi(out.c_str() + at_port + 2));
  }
  Process& process() { return *process_; }
  Words to(Words words) const {
    words.insert(words.end(), {"-p", port_, "127.0.0.1"});
    return words;
  }
  Command client() const { return command(tool_, to(words_)); }

 private:
  const std::string tool_;
  const Words words_;
  std::unique_ptr<Process> process_;
  std::string port_;
};

struct Ended {
  Outcome server, client;
};

Ended both(const std::string& tool, const Words& words) {
  Server server(tool, words);
  Ended ended;
  ended.client = run(server.client(), 60);
  ended.server = server.process().wait(60);
  return ended;
}

// The rows of the table, cut into words.
std::vector<Words> rows(const std::string& out) {
  std::vector<Words> all;
  bool table = false;
  for (const std::string& line : lines(out)) {
    if (table && line.starts_with("---")) break;
    std::istringstream in(line);
    Words words;
    for (std::string word; in >> word;) words.push_back(word);
    if (table && !words.empty()) all.push_back(words);
    table = table || line.starts_with(" #bytes");
  }
  return all;
}

void expect_measured(const Ended& ended, const std::string& tool, size_t sizes) {
  for (const Outcome& o : {ended.server, ended.client}) {
    EXPECT_EQ(o.status, 0) << tool << o.out << o.err;
    EXPECT_EQ(o.err, "") << tool;
    const auto table = rows(o.out);
    ASSERT_EQ(table.size(), sizes) << tool << o.out;
    for (const Words& row : table) ASSERT_EQ(row.size(), measures_bandwidth(tool) ? 5u : 9u) << o.out;
    for (const Words& row : table) EXPECT_GT(std::stod(row.back()), 0) << o.out;
  }
}

class Over : public testing::TestWithParam<std::string> {
 protected:
  // Where this build, or this machine, has no such transport.
  void SetUp() override {
    const Outcome o = run(command("write_bw", {"-d", GetParam(), "--wait", "0.1", "-p", "0"}));
    if (contains(o.err, "no module for it") || contains(o.err, "libfabric")) GTEST_SKIP() << o.err;
  }
};

TEST_P(Over, EveryToolMeasuresAndChecks) {
  for (const std::string& tool : kTools) {
    Words words = {"-d", GetParam(), "-n", "30", "-s", "10000", "--data_validation"};
    const Ended ended = both(tool, words);
    expect_measured(ended, tool, 1);
    EXPECT_TRUE(contains(ended.client.out, " Wrong bytes     : 0 OK")) << ended.client.out;
  }
}

TEST_P(Over, AllSizes) {
  for (const std::string tool : {"write_bw", "send_lat"})
    expect_measured(both(tool, {"-d", GetParam(), "-n", "5", "-a"}), tool, 23);
}

TEST_P(Over, ManyConnectionsBothWaysWithEvents) {
  for (const std::string tool : {"write_bw", "read_bw", "send_bw"}) {
    const Ended ended = both(
        tool, {"-d", GetParam(), "-n", "40", "-q", "3", "-b", "-l", "4", "-t", "16", "-e", "-s", "20000"});
    expect_measured(ended, tool, 1);
    EXPECT_EQ(rows(ended.client.out)[0][1], "120") << ended.client.out;
  }
}

INSTANTIATE_TEST_SUITE_P(Transports, Over, testing::Values("shm", "tcp", "ofi:tcp", "ucx:tcp"),
                         [](const auto& one) { return one.param.substr(0, one.param.find(':')); });

TEST(Pair, ChipsOfAPod) {
  const EmulatedPod pod("mesh 1x3");  // chip 1 is on the way
  ASSERT_EQ(pod.error(), "");
  for (const std::string& tool : kTools) {
    const Ended ended =
        both(tool, {"-d", pod.network() + "#0/2", "-n", "30", "-s", "10000", "--data_validation"});
    expect_measured(ended, tool, 1);
    EXPECT_TRUE(contains(ended.server.out, pod.network() + "#0, host")) << ended.server.out;
    EXPECT_TRUE(contains(ended.client.out, pod.network() + "#2, host")) << ended.client.out;
  }
  const Outcome o = run(command("write_bw", {"-d", "icl:emu:/no/such/pod#0/1"}));
  EXPECT_EQ(o.status, 1);
  EXPECT_TRUE(contains(o.err, "/no/such/pod")) << o.err;
}

TEST(Pair, ForATimeAndEveryResult) {
  Ended ended = both("write_bw", {"-d", "shm", "-D", "1"});
  ASSERT_EQ(ended.client.status, 0) << ended.client.err;
  EXPECT_GT(std::stod(rows(ended.client.out).at(0).at(1)), 100);
  ended = both("read_lat", {"-d", "shm", "-D", "1"});
  ASSERT_EQ(ended.client.status, 0) << ended.client.err;
  EXPECT_EQ(rows(ended.client.out).at(0).size(), 4u) << ended.client.out;
  ended = both("write_lat", {"-d", "shm", "-n", "12", "-H"});
  EXPECT_TRUE(contains(ended.client.out, "#, usec\n1, ")) << ended.client.out;
  EXPECT_TRUE(contains(ended.client.out, "\n12, ")) << ended.client.out;
}

TEST(Pair, WritesTheReportAsJson) {
  char folder[] = "/tmp/plait-pair-test-XXXXXX";
  ASSERT_NE(mkdtemp(folder), nullptr);
  const std::string file = std::string(folder) + "/report.json";
  Server server("send_lat", {"-d", "tcp:lo", "-n", "20"});
  const Outcome client =
      run(command("send_lat", server.to({"-d", "tcp:lo", "-n", "20", "--out_json_file", file})));
  EXPECT_EQ(client.status, 0) << client.err;
  std::ifstream in(file);
  const auto json = nlohmann::json::parse(in, nullptr, false);
  unlink(file.c_str());
  rmdir(folder);
  ASSERT_FALSE(json.is_discarded());
  EXPECT_EQ(json["test_info"]["Device"], "tcp:lo");
  EXPECT_EQ(json["results"]["n_iterations"], 20);
  EXPECT_GT(json["results"]["t_typical"], 0.0);
}

TEST(Pair, DifferingOptionsAreNamedOnBothSides) {
  Server server("write_bw", {"-d", "tcp", "-s", "4096"});
  const Outcome client = run(command("write_bw", server.to({"-d", "tcp", "-s", "8192", "-b"})));
  const Outcome served = server.process().wait();
  EXPECT_EQ(client.status, 1);
  EXPECT_TRUE(contains(client.err, "-s is 8192 here and 4096 at the server; -b is given here and not given"))
      << client.err;
  EXPECT_EQ(served.status, 1);
  EXPECT_TRUE(contains(served.err, "-s is 4096 here and 8192 at the client")) << served.err;
}

TEST(Pair, AnotherToolAndAnotherTransportAreNamed) {
  Server server("write_bw", {"-d", "tcp"});
  const Outcome client = run(command("read_bw", server.to({"-d", "shm"})));
  EXPECT_EQ(client.status, 1);
  EXPECT_TRUE(contains(client.err, "the tool is plait_read_bw here and plait_write_bw at the server"))
      << client.err;
  EXPECT_TRUE(contains(client.err, "the transport (-d) is shm here and tcp at the server")) << client.err;
}

TEST(Pair, AHostThatIsNoneIsNamed) {
  const Outcome unknown = run(command("write_bw", {"-d", "tcp", "no-such-host.invalid"}));
  EXPECT_EQ(unknown.status, 1);
  EXPECT_TRUE(contains(unknown.err, "no-such-host.invalid")) << unknown.err;
  const Outcome nobody = run(command("write_bw", {"-d", "tcp", "-p", "1", "127.0.0.1"}));
  EXPECT_EQ(nobody.status, 1);
  EXPECT_TRUE(contains(nobody.err, "no server at 127.0.0.1:1")) << nobody.err;
}

TEST(Pair, DevicesAndOptionsThatAreNoneAreRefused) {
  const std::pair<Words, const char*> cases[] = {
      {{"-d", "nonsense0"}, "no RDMA device, network interface or transport"},
      {{"-d", "shm", "-x", "1"}, "-x: only RDMA devices take that, not shm"},
      {{"-d", "tcp", "-R", "-I", "8"}, "-R, -I: only RDMA devices take that, not tcp"},
      {{"-d", "tcp?nonsense=1"}, "nonsense"},
      {{"-d", "tcp?tls=1"}, "PLAIT_SECRET_FILE"},
  };
  for (const auto& [words, part] : cases) {
    const Outcome o = run(command("write_bw", words));
    EXPECT_EQ(o.status, 1) << o.out << o.err;
    EXPECT_TRUE(contains(o.err, part)) << o.err;
    EXPECT_FALSE(contains(o.out, "Waiting")) << "before anybody is waited for";
  }
}

TEST(Pair, ATakenPortIsNamed) {
  Server server("write_bw", {"-d", "tcp"});
  const Words to = server.to({});
  const Outcome second = run(command("write_bw", {"-d", "tcp", "-p", to[1]}));
  EXPECT_EQ(second.status, 1);
  EXPECT_TRUE(contains(second.err, "another server?")) << second.err;
}

TEST(Pair, ASideThatIsKilledIsNamed) {
  for (const std::string tool : {"write_bw", "send_bw", "write_lat", "read_lat"})
    for (const std::string device : {"shm", "tcp"}) {
      Words words = {"-d", device, "-D", "600"};
      for (const bool server_dies : {false, true}) {
        Server server(tool, words);
        Process client(server.client());
        ASSERT_TRUE(client.wait_for_output(" #bytes")) << client.out() << client.err();
        Process &dies = server_dies ? server.process() : client,
                &stays = server_dies ? client : server.process();
        ASSERT_TRUE(stays.wait_for_output(" #bytes")) << stays.out() << stays.err();
        dies.signal(SIGKILL);
        const Outcome o = stays.wait(60);
        EXPECT_EQ(o.status, 1) << tool << device << o.err;
        EXPECT_TRUE(contains(o.err, ": measuring ")) << o.err;
        EXPECT_TRUE(contains(o.err, server_dies ? "the server (" : "the client ("))
            << tool << device << o.err;
        EXPECT_TRUE(contains(o.err, "process " + std::to_string(dies.pid()))) << tool << device << o.err;
      }
    }
}

TEST(Pair, ASideThatIsStoppedIsNamed) {
  const Words words = {"-d", "tcp", "-D", "600", "--timeout", "1"};
  Server server("write_bw", words);
  Process client(server.client());
  ASSERT_TRUE(client.wait_for_output(" #bytes"));
  server.process().signal(SIGSTOP);
  const Outcome o = client.wait(60);
  server.process().signal(SIGKILL);
  EXPECT_EQ(o.status, 1);
  EXPECT_TRUE(contains(o.err, "the server (")) << o.err;
}

TEST(Pair, RunsUntilItIsInterrupted) {
  Server server("write_bw", {"-d", "shm", "--run_infinitely", "-D", "1"});
  Process client(server.client());
  ASSERT_TRUE(client.wait_for_output(" 65536"));
  ASSERT_TRUE(server.process().wait_for_output(" 65536"));
  client.signal(SIGINT);
  const Outcome o = client.wait(60), served = server.process().wait(60);
  EXPECT_EQ(o.status, 0) << o.err;
  EXPECT_GE(rows(o.out).size(), 2u) << o.out;
  EXPECT_EQ(served.status, 0) << served.err;
  EXPECT_EQ(served.err, "");
}

TEST(Pair, RunsBothWaysUntilItIsInterrupted) {
  for (const std::string tool : {"write_bw", "read_bw", "send_bw"}) {
    Server server(tool, {"-d", "tcp:lo", "--run_infinitely", "-D", "1", "-b"});
    Process client(server.client());
    ASSERT_TRUE(client.wait_for_output(" 65536")) << tool << client.err();
    ASSERT_TRUE(server.process().wait_for_output(" 65536"));
    client.signal(SIGINT);
    const Outcome o = client.wait(60), served = server.process().wait(60);
    EXPECT_EQ(o.status, 0) << tool << o.err;
    EXPECT_EQ(served.status, 0) << tool << served.err;
    EXPECT_EQ(rows(o.out), rows(served.out)) << tool << "the rows are of both sides";
  }
}

TEST(Pair, ANumberAloneAndALimit) {
  Server server("write_bw", {"-d", "shm", "-n", "50", "-w", "1e12"});
  const Outcome client = run(command(
      "write_bw", server.to({"-d", "shm", "-n", "50", "--output", "message_rate", "-y", "1e-9", "-Q", "8"})));
  EXPECT_EQ(client.status, 0) << client.err;
  EXPECT_GT(std::stod(client.out), 0) << client.out;
  EXPECT_EQ(lines(client.out).size(), 1u) << client.out;
  const Outcome served = server.process().wait(60);
  EXPECT_EQ(served.status, 1);
  EXPECT_TRUE(contains(served.err, "less than 1e+12 (-w)")) << served.err;
}

TEST(Pair, TellsATerminalWhatItDoes) {
  if (run({{"sh", "-c", "command -v script"}, {}, {}, {}}).status != 0)
    GTEST_SKIP() << "there is no script(1)";
  Server server("write_bw", {"-d", "shm", "-D", "600"});
  std::string call;
  for (const std::string& word : server.client().words) call += word + " ";
  Process watched({{"script", "-qec", call, "/dev/null"}, {}, {}, {}});
  EXPECT_TRUE(watched.wait_for_output("measuring 65536 bytes, ", 60)) << watched.out();
  watched.signal(SIGTERM);
  watched.wait();
  EXPECT_EQ(server.process().wait(60).status, 1) << "its client is gone";
}

TEST(Pair, ASecretProvesWhoTheyAre) {
  char file[] = "/tmp/plait-pair-secret-XXXXXX";
  const int fd = mkstemp(file);
  ASSERT_GE(fd, 0);
  ASSERT_EQ(write(fd, "0123456789abcdef0123456789abcdef", 32), 32);
  close(fd);
  Command c = command("write_bw", {"-d", "tcp", "-p", "0", "-n", "10"});
  c.set.emplace_back("PLAIT_SECRET_FILE", file);
  c.unset.clear();
  Process server(c);
  ASSERT_TRUE(server.wait_for_output(" Port ")) << server.err();
  const std::string out = server.out(),
                    port = std::to_string(std::atoi(out.c_str() + out.find(": ", out.find(" Port ")) + 2));
  const Outcome stranger = run(command("write_bw", {"-d", "tcp", "-p", port, "-n", "10", "127.0.0.1"}));
  EXPECT_EQ(stranger.status, 1);
  EXPECT_TRUE(contains(stranger.err, "PLAIT_SECRET_FILE")) << stranger.err;
  Command friends = command("write_bw", {"-d", "tcp", "-p", port, "-n", "10", "127.0.0.1"});
  friends.set = c.set;
  friends.unset.clear();
  const Outcome o = run(friends);
  EXPECT_EQ(o.status, 0) << o.err;
  EXPECT_TRUE(contains(o.out, "TCP, authenticated")) << o.out;
  EXPECT_EQ(server.wait().status, 0);
  unlink(file);
}

TEST(Pair, HelpAndVersion) {
  for (const std::string& tool : kTools) {
    const Outcome help = run(command(tool, {"--help"}));
    EXPECT_EQ(help.status, 0);
    EXPECT_TRUE(contains(help.out, "Usage: plait_" + tool)) << help.out;
    EXPECT_TRUE(contains(run(command(tool, {"-V"})).out, "plait_" + tool + " 0."));
    EXPECT_EQ(run(command(tool, {"--nonsense"})).status, 2);
  }
}

}  // namespace
}  // namespace plait::test
