// The network "shm": processes that share no memory are told so as they connect.
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "devices.h"
#include "pair.h"

namespace plait::nccl {
namespace {

// Sets PLAIT_NETWORK for as long as it lives.
class Network {
 public:
  explicit Network(const char* name) : before_(std::getenv("PLAIT_NETWORK")) {
    setenv("PLAIT_NETWORK", name, 1);
  }
  ~Network() { setenv("PLAIT_NETWORK", before_.c_str(), 1); }
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;

 private:
  const std::string before_;
};

// Of another "host", which the listener of `handle` is not on: 0 when connect() ends as it has to.
int connect_from_elsewhere(int pipe) {
  HandleBytes handle{};
  setenv("PLAIT_HOST_ID", "elsewhere", 1);
  if (read(pipe, handle.data(), handle.size()) != ssize_t(handle.size())) return 2;
  Started started;
  void* send = nullptr;
  NcclResult result = started.result;
  const auto until = Deadline::in_ms(20'000);
  while (result == kSuccess && send == nullptr && !until.passed())
    result = net().connect(started.context, device(), handle.data(), &send, nullptr);
  const bool told = logged().find("it shares no memory with this process") != std::string::npos;
  if (result == NcclResult::invalid_usage && told) return 0;
  std::fprintf(stderr, "connect gave %d, and told: %s\n", int(result), logged().c_str());
  return 1;
}

TEST(Hosts, SharedMemoryDoesNotLeadToAnotherOne) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  Fd from(ends[0]), to(ends[1]);
  const Network network("shm");
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) _exit(connect_from_elsewhere(from.get()));
  Started started;
  ASSERT_EQ(started.result, kSuccess) << logged();
  HandleBytes handle{};
  void* listener = nullptr;
  ASSERT_EQ(net().listen(started.context, device(), handle.data(), &listener), kSuccess) << logged();
  ASSERT_EQ(write(to.get(), handle.data(), handle.size()), ssize_t(handle.size()));
  int status = 0;
  NcclResult result = kSuccess;
  const auto until = Deadline::in_ms(30'000);
  for (bool ended = false; (!ended || result == kSuccess) && !until.passed();) {
    ended = ended || waitpid(child, &status, WNOHANG) == child;
    void* receive = nullptr;
    if (result == kSuccess) result = net().accept(listener, &receive, nullptr);
    EXPECT_EQ(receive, nullptr);
  }
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  EXPECT_EQ(result, NcclResult::invalid_usage);
  EXPECT_NE(logged().find("PLAIT_HOST_ID"), std::string::npos) << logged();
  EXPECT_EQ(net().close_listen(listener), kSuccess);
}

TEST(Hosts, SharedMemoryIsOneDevice) {
  auto config = read_config();
  ASSERT_TRUE(config.ok());
  config->network = "shm";
  const auto devices = find_devices(*config);
  ASSERT_TRUE(devices.ok()) << devices.status().text();
  ASSERT_EQ(devices->size(), 1u);
  EXPECT_EQ(devices->front().name, "shm");
  EXPECT_TRUE(devices->front().pci_path.empty());
  EXPECT_GT(devices->front().speed_mbps, 0);
  EXPECT_FALSE(devices->front().addresses.empty());
  config->network = "shm|tcp";  // it would never come to TCP
  EXPECT_EQ(find_devices(*config).status().code(), Code::invalid);
}

}  // namespace
}  // namespace plait::nccl
