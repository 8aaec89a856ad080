// Real NCCL over plait's plugin: two processes that share a GPU, and take each other for another host.
// Results are checked, and that their bytes went through the plugin. Needs a GPU; else it skips itself (77).
//
// Usage: nccl_real PLUGIN [LIBNCCL]
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "base/clock.h"
#include "cuda.h"

namespace plait::test {
namespace {

constexpr int kSkip = 77;
constexpr int kRanks = 2;
constexpr int kLeastNccl = 22003;  // 2.20.3, the first that knows version 8 of the plugin's table
constexpr int64_t kOneMs = 60'000, kAllMs = 200'000;
constexpr size_t kCounts[] = {1, 1000, 65'536, size_t{1} << 20};  // of ints
constexpr int kOperations = 3;

int skip(const std::string& why) {
  std::printf("skipped: %s\n", why.c_str());
  std::fflush(stdout);
  return kSkip;
}

// What this machine lacks; 0: nothing.
int probe(const char* library) {
  Nccl nccl{};
  Cuda cuda{};
  std::string why = load(library, nccl);
  if (!why.empty()) return skip("no NCCL here: " + why);
  int version = 0, count = 0;
  if (nccl.version(&version) != 0 || version < kLeastNccl)
    return skip("NCCL " + std::to_string(version) + " is older than 2.20.3 (" + std::to_string(kLeastNccl) +
                "), and knows none of the plugin's tables");
  why = load(cuda);
  if (!why.empty()) return skip("no driver of a GPU here: " + why);
  const int result = cuda.init(0);
  if (result != 0 || cuda.device_count(&count) != 0 || count == 0)
    return skip("no GPU here: cuInit gave " + std::to_string(result) + ", and there are " +
                std::to_string(count));
  std::printf("NCCL %d, %d GPU%s\n", version, count, count == 1 ? "" : "s");
  std::fflush(stdout);
  return 0;
}

void set(const char* name, const std::string& value) { setenv(name, value.c_str(), 1); }

// Before NCCL is loaded.
void prepare(int rank, const std::string& plugin, const std::string& log) {
  set("NCCL_HOSTID", "plait-" + std::to_string(getppid()) + "-" + std::to_string(rank));
  set("NCCL_NET_PLUGIN", plugin);
  set("NCCL_NET", "plait");  // or it stops
  for (const char* other : {"NCCL_P2P_DISABLE", "NCCL_SHM_DISABLE"}) set(other, "1");
  for (const char* other :
       {"NCCL_MNNVL_ENABLE", "NCCL_NVLS_ENABLE", "NCCL_COLLNET_ENABLE", "NCCL_RAS_ENABLE"})
    set(other, "0");
  set("NCCL_SOCKET_IFNAME", "lo");
  set("NCCL_MAX_NCHANNELS", "2");  // two processes take turns on the GPU
  set("NCCL_DEBUG", "INFO");
  set("NCCL_DEBUG_SUBSYS", "INIT,ENV,NET");
  set("NCCL_DEBUG_FILE", log);
  setenv("PLAIT_IFACE", "lo", 0);
}

class Rank {
 public:
  Rank(int rank, const char* library) : rank_(rank) {
    check(load(library, nccl_).empty() && load(cuda_).empty(), "loading the libraries");
    int device = 0;
    cuda(cuda_.init(0), "cuInit");
    cuda(cuda_.device(&device, 0), "cuDeviceGet");
    cuda(cuda_.retain_context(&context_, device), "cuDevicePrimaryCtxRetain (a GPU in exclusive mode?)");
    cuda(cuda_.use_context(context_), "cuCtxSetCurrent");
    cuda(cuda_.create_stream(&stream_, 0), "cuStreamCreate");
    for (auto* memory : {&from_, &to_})
      cuda(cuda_.allocate(memory, kRanks * kCounts[std::size(kCounts) - 1] * sizeof(int)), "cuMemAlloc");
  }

  // The first rank makes the name that the other reads.
  void join(int pipe) {
    UniqueId id;
    if (rank_ == 0) {
      nccl(nccl_.unique_id(&id), "ncclGetUniqueId");
      check(write(pipe, &id, sizeof id) == ssize_t(sizeof id), "writing the unique id");
    } else {
      check(read(pipe, &id, sizeof id) == ssize_t(sizeof id), "reading the unique id");
    }
    nccl(nccl_.join(&comm_, kRanks, id, rank_), "ncclCommInitRank");
  }

  void all_reduce(size_t count) {
    give(count, 1 + rank_, 0);
    nccl(nccl_.all_reduce(from(), to(), count, kInt32, kSum, comm_, stream_), "ncclAllReduce");
    finish("ncclAllReduce", count);
    expect("ncclAllReduce", 0, count, 3, 0);
  }
  void all_gather(size_t count) {
    give(count, 1, rank_);
    nccl(nccl_.all_gather(from(), to(), count, kInt32, comm_, stream_), "ncclAllGather");
    finish("ncclAllGather", count);
    for (int r = 0; r < kRanks; r++) expect("ncclAllGather", size_t(r) * count, count, 1, r);
  }
  void swap(size_t count) {
    const int peer = 1 - rank_;
    give(count, 5, rank_);
    nccl(nccl_.group_start(), "ncclGroupStart");
    nccl(nccl_.send(from(), count, kInt32, peer, comm_, stream_), "ncclSend");
    nccl(nccl_.receive(to(), count, kInt32, peer, comm_, stream_), "ncclRecv");
    nccl(nccl_.group_end(), "ncclGroupEnd");
    finish("ncclSend and ncclRecv", count);
    expect("ncclSend and ncclRecv", 0, count, 5, peer);
  }

  void leave() {
    nccl(nccl_.leave(comm_), "ncclCommDestroy");
    cuda(cuda_.release(from_), "cuMemFree");
    cuda(cuda_.release(to_), "cuMemFree");
  }

 private:
  void* from() const { return reinterpret_cast<void*>(from_); }
  void* to() const { return reinterpret_cast<void*>(to_); }
  static int value(size_t i, int factor, int offset) { return int(i % 1000) * factor + offset; }

  // What is sent, and nothing of it where it is to come.
  void give(size_t count, int factor, int offset) {
    std::vector<int> values(count);
    for (size_t i = 0; i < count; i++) values[i] = value(i, factor, offset);
    cuda(cuda_.to_device(from_, values.data(), count * sizeof(int)), "cuMemcpyHtoD");
    values.assign(kRanks * count, -1);
    cuda(cuda_.to_device(to_, values.data(), values.size() * sizeof(int)), "cuMemcpyHtoD");
  }
  void expect(const char* what, size_t at, size_t count, int factor, int offset) {
    std::vector<int> values(count);
    cuda(cuda_.to_host(values.data(), to_ + at * sizeof(int), count * sizeof(int)), "cuMemcpyDtoH");
    for (size_t i = 0; i < count; i++) {
      if (values[i] == value(i, factor, offset)) continue;
      fail(std::string(what) + " of " + std::to_string(count) + ": element " + std::to_string(at + i) +
           " is " + std::to_string(values[i]) + ", not " + std::to_string(value(i, factor, offset)));
    }
  }
  void finish(const char* what, size_t count) {
    const auto until = Deadline::in_ms(kOneMs);
    int state = 0;
    while ((state = cuda_.query_stream(stream_)) == kCudaNotReady) {
      int error = 0;
      nccl(nccl_.async_error(comm_, &error), "ncclCommGetAsyncError");
      nccl(error, what);
      if (until.passed()) fail(std::string(what) + " of " + std::to_string(count) + " did not end");
      usleep(200);
    }
    cuda(state, what);
  }

  void nccl(int result, const char* what) {
    if (result == 0 || result == kInProgress) return;
    const char* last = nccl_.last_error(comm_);
    fail(std::string(what) + ": " + nccl_.error_string(result) + "; " + (last != nullptr ? last : ""));
  }
  void cuda(int result, const char* what) {
    if (result != 0) fail(std::string(what) + " gave CUDA's error " + std::to_string(result));
  }
  void check(bool good, const char* what) {
    if (!good) fail(std::string(what) + " failed");
  }
  [[noreturn]] void fail(const std::string& why) {
    std::fprintf(stderr, "rank %d: %s\n", rank_, why.c_str());
    _exit(1);
  }

  const int rank_;
  Nccl nccl_{};
  Cuda cuda_{};
  void* context_ = nullptr;
  Stream stream_ = nullptr;
  unsigned long long from_ = 0, to_ = 0;  // on the device
  NcclComm comm_ = nullptr;
};

[[noreturn]] void run_rank(int rank, int pipe, const char* library) {
  Rank its(rank, library);
  its.join(pipe);
  for (const size_t count : kCounts) {
    its.all_reduce(count);
    its.all_gather(count);
    its.swap(count);
  }
  its.leave();
  std::exit(0);
}

// Bytes that the plugin says its send comms moved, as NCCL's log has it.
uint64_t sent(const std::string& log) {
  std::ifstream file(log);
  uint64_t bytes = 0;
  for (std::string line; std::getline(file, line);) {
    const size_t at = line.find("closes after ");
    uint64_t messages = 0, its = 0;
    if (at == line.npos || line.find(" to ") == line.npos || line.find("NET/plait: ") == line.npos) continue;
    if (std::sscanf(line.c_str() + at, "closes after %" SCNu64 " messages of %" SCNu64, &messages, &its) == 2)
      bytes += its;
  }
  return bytes;
}

void show(const std::string& log) {
  std::ifstream file(log);
  for (std::string line; std::getline(file, line);)
    if (line.find("WARN") != line.npos || line.find("plait") != line.npos)
      std::fprintf(stderr, "%s\n", line.c_str());
}

// The status of a child; killed where it does not end in time.
int await(pid_t child, const Deadline& until) {
  int status = 0;
  while (waitpid(child, &status, WNOHANG) == 0) {
    if (until.passed()) {
      std::fprintf(stderr, "process %d did not end in time\n", int(child));
      kill(child, SIGKILL);
      waitpid(child, &status, 0);
      break;
    }
    usleep(5000);
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

bool moved_by_plugin(const std::vector<std::string>& logs) {
  uint64_t least = 0;
  for (const size_t count : kCounts) least += kOperations * count * sizeof(int);
  for (const std::string& log : logs) {
    const uint64_t bytes = sent(log);
    std::printf("%s: the plugin sent %" PRIu64 " bytes, at least %" PRIu64 " are due\n", log.c_str(), bytes,
                least);
    if (bytes < least) return false;
  }
  return true;
}

int run_ranks(const std::string& plugin, const char* library, const std::string& folder) {
  int ends[2];
  if (pipe(ends) != 0) return 1;
  std::vector<pid_t> children;
  std::vector<std::string> logs;
  for (int rank = 0; rank < kRanks; rank++) {
    logs.push_back(folder + "/rank" + std::to_string(rank));
    std::fflush(nullptr);
    const pid_t child = fork();
    if (child < 0) return 1;
    if (child == 0) {
      prepare(rank, plugin, logs.back());
      run_rank(rank, ends[rank == 0 ? 1 : 0], library);
    }
    children.push_back(child);
  }
  for (const int end : ends) close(end);
  const auto until = Deadline::in_ms(kAllMs);
  bool good = true;
  for (const pid_t child : children) good = await(child, good ? until : Deadline::in_ms(5000)) == 0 && good;
  good = good && moved_by_plugin(logs);
  if (!good)
    for (const std::string& log : logs) show(log);
  std::printf("%s: all_reduce, all_gather, send and recv of 4 sizes, 2 ranks\n", good ? "good" : "FAILED");
  return good ? 0 : 1;
}

}  // namespace
}  // namespace plait::test

// CUDA does not survive a fork: this process never touches it.
int main(int argc, char** argv) {
  using namespace plait;
  using namespace plait::test;
  if (argc < 2 || argc > 3) {
    std::fprintf(stderr, "usage: nccl_real PLUGIN [LIBNCCL]\n");
    return 2;
  }
  const std::string plugin = std::filesystem::absolute(argv[1]);
  const char* library = argc == 3 ? argv[2] : "libnccl.so.2";
  const pid_t child = fork();
  if (child < 0) return 1;
  if (child == 0) std::exit(probe(library));
  if (const int status = await(child, Deadline::in_ms(60'000)); status != 0) return status;
  std::string folder = (std::filesystem::temp_directory_path() / "plait-nccl-XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) return 1;
  const int status = run_ranks(plugin, library, folder);
  std::filesystem::remove_all(folder);
  return status;
}
