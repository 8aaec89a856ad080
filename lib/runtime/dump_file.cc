// Where dumps go: names, and files that are there whole or not at all.
#include <fcntl.h>
#include <limits.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "runtime/dump.h"

namespace plait::runtime {

namespace {

// A path put together in a signal handler, whose stack may be small.
class Path {
 public:
  explicit Path(std::string_view text) noexcept { append(text); }
  Path& append(std::string_view text) noexcept {
    fits_ = fits_ && text.size() < sizeof text_ - used_;
    if (!fits_) return *this;
    std::memcpy(text_ + used_, text.data(), text.size());
    text_[used_ += text.size()] = 0;
    return *this;
  }
  Path& append(uint32_t number) noexcept {
    char digits[10];
    size_t at = sizeof digits;
    do digits[--at] = char('0' + number % 10);
    while ((number /= 10) != 0);
    return append(std::string_view(digits + at, sizeof digits - at));
  }
  bool fits() const noexcept { return fits_; }
  const char* text() const noexcept { return text_; }

 private:
  bool fits_ = true;
  size_t used_ = 0;
  char text_[kMostPathBytes + 40];
};

}  // namespace

int save_dump(const Recorder& recorder, Why why, const char* path) noexcept {
  static std::atomic<uint32_t> files{0};  // two threads may write at once
  Path temporary(path);
  temporary.append(".").append(uint32_t(getpid())).append(".").append(files.fetch_add(1)).append(".tmp");
  if (!temporary.fits()) return ENAMETOOLONG;
  const int fd = ::open(temporary.text(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (fd < 0) return errno;
  int error = write_dump(recorder, why, fd);
  if (::close(fd) != 0 && error == 0) error = errno;
  if (error == 0 && ::rename(temporary.text(), path) != 0) error = errno;
  if (error != 0) ::unlink(temporary.text());
  return error;
}

std::string dump_prefix() {
  const char* value = std::getenv("PLAIT_DUMP");
  return value == nullptr ? "" : value;
}

Status check_dump_prefix() {
  const std::string path = dump_path(INT32_MAX, UINT32_MAX);
  if (path.size() <= kMostPathBytes) return {};
  return {Code::invalid, "PLAIT_DUMP makes paths of " + std::to_string(path.size()) + " bytes; at most " +
                             std::to_string(kMostPathBytes) + " are possible"};
}

std::string dump_path(int32_t rank, uint32_t communicator, const std::string& split) {
  std::string prefix = dump_prefix();
  if (prefix.empty()) return {};
  char folder[PATH_MAX];
  if (prefix[0] != '/' && getcwd(folder, sizeof folder) != nullptr)
    prefix = std::string(folder) + "/" + prefix;
  const std::string name = std::to_string(communicator) + (split.empty() ? "" : "-" + split);
  return prefix + "." + std::to_string(rank) + "." + name + ".json";
}

}  // namespace plait::runtime
