#include "documents/text_file.h"

#include <fcntl.h>
#include <spdlog/fmt/fmt.h>
#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <cstdio>

#include "base/file.h"

namespace plait::documents {

Result<std::string> read_file(const std::string& path, size_t most) {
  Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return Status::system(errno, "cannot open " + path);
  struct stat about {};
  if (::fstat(fd.get(), &about) != 0) return Status::system(errno, "cannot read " + path);
  if (S_ISDIR(about.st_mode)) return Status(Code::invalid, path + " is a folder, not a file");
  std::string text;
  std::array<char, 1 << 16> part{};
  for (;;) {
    const ssize_t got = ::read(fd.get(), part.data(), part.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Status::system(errno, "cannot read " + path);
    if (got == 0) return text;
    if (text.size() + size_t(got) > most)
      return Status(Code::invalid, fmt::format("{} is longer than {} MiB", path, most >> 20));
    text.append(part.data(), size_t(got));
  }
}

Status write_file(const std::string& path, std::string_view text) {
  std::FILE* file = path == "-" ? stdout : std::fopen(path.c_str(), "we");
  if (file == nullptr) return Status::system(errno, "cannot write " + path);
  bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  written = (file == stdout ? std::fflush(file) : std::fclose(file)) == 0 && written;
  return written ? Status() : Status::system(errno, "cannot write " + path);
}

Status refuse(const std::string& file, uint32_t line, std::string why) {
  return {Code::invalid, fmt::format("{}:{}: {}", file, line, why)};
}

}  // namespace plait::documents
