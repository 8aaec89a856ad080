#include "tools/run/job.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "base/file.h"

namespace plait::run {
namespace {

template <size_t N>
bool random_bytes(std::array<unsigned char, N>& bytes) {
  return getrandom(bytes.data(), N, 0) == ssize_t(N);  // up to 256 bytes come whole
}

std::string hex(const auto& bytes) {
  static constexpr char digits[] = "0123456789abcdef";
  std::string text;
  for (unsigned char b : bytes) {
    text += digits[b >> 4];
    text += digits[b & 15];
  }
  return text;
}

// A port that was free a moment ago. It is the program's (torch.distributed's store binds it), never ours;
// another process may take it in between, as with torchrun --standalone.
int free_port() {
  Fd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  if (!fd || bind(fd.get(), generic, length) != 0 || getsockname(fd.get(), generic, &length) != 0)
    return 29500;
  return ntohs(address.sin_port);
}

}  // namespace

std::string temporary_folder() {
  const char* runtime = getenv("XDG_RUNTIME_DIR");
  if (runtime != nullptr && *runtime == '/' && access(runtime, W_OK | X_OK) == 0) return runtime;
  return "/tmp";
}

SecretFile::~SecretFile() {
  if (!path_.empty()) unlink(path_.c_str());
}

bool SecretFile::create(std::string& error) {
  std::array<unsigned char, 32> secret;
  if (!random_bytes(secret)) {
    error = std::string("no random bytes for the job's secret: ") + std::strerror(errno);
    return false;
  }
  std::string path = temporary_folder() + "/plait-secret-XXXXXX";
  Fd fd(mkostemp(path.data(), O_CLOEXEC));  // mode 0600
  if (!fd) {
    error = "cannot make the job's secret file " + path + ": " + std::strerror(errno);
    return false;
  }
  path_ = path;
  if (write(fd.get(), secret.data(), secret.size()) != ssize_t(secret.size())) {
    error = "cannot write the job's secret file " + path + ": " + std::strerror(errno);
    return false;
  }
  return true;
}

bool Job::create(int rank_count, std::string& error) {
  ranks = rank_count;
  std::array<unsigned char, 16> id;
  if (!random_bytes(id)) {
    error = std::string("no random bytes for the job's name: ") + std::strerror(errno);
    return false;
  }
  name = hex(id);
  master_port = free_port();
  if (const char* path = isatty(STDERR_FILENO) == 1 ? ttyname(STDERR_FILENO) : nullptr) terminal = path;
  return secret.create(error);
}

std::vector<std::pair<std::string, std::string>> Job::variables(int rank) const {
  std::vector<std::pair<std::string, std::string>> all = {{"RANK", std::to_string(rank)},
                                                          {"WORLD_SIZE", std::to_string(ranks)},
                                                          {"LOCAL_RANK", std::to_string(rank)},
                                                          {"LOCAL_WORLD_SIZE", std::to_string(ranks)},
                                                          {"GROUP_RANK", "0"},
                                                          {"MASTER_ADDR", "127.0.0.1"},
                                                          {"MASTER_PORT", std::to_string(master_port)},
                                                          {"PLAIT_JOB", name},
                                                          {"PLAIT_SECRET_FILE", secret.path()},
                                                          {"PLAIT_DUMP", dump}};
  if (rank == 0 && !terminal.empty()) all.emplace_back("PLAIT_TERMINAL", terminal);
  return all;
}

}  // namespace plait::run
