// Small files of sysfs. They are not trusted: what is not understood is left out, and told with file and
// line.
#pragma once

#include <sched.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace plait::topology {

// What was not understood: "FILE:1: why". At most kMostNotes of them are kept.
class Notes {
 public:
  static constexpr size_t kMostNotes = 32;
  void add(const std::filesystem::path& file, const std::string& why);
  std::vector<std::string> take() noexcept { return std::move(lines_); }

 private:
  std::vector<std::string> lines_;
};

// The whole number that is all of a file. Nothing: no file that can be read, or something else, of which
// there is a note.
std::optional<int64_t> whole_number_in(const std::filesystem::path& file, int64_t least, int64_t most,
                                       Notes& notes);
// A list of CPUs, "0-3,8-11". None: no file, or something else, of which there is a note.
cpu_set_t cpus_in(const std::filesystem::path& file, Notes& notes);
// The number that a file begins with, "200 Gb/sec (4X HDR)"; 0: none, no file, or more than 1e9.
double number_in(const std::filesystem::path& file);

}  // namespace plait::topology
