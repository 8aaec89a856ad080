#include "topology/sysfs_files.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <charconv>

#include "base/text.h"
#include "documents/text_file.h"

namespace plait::topology {
namespace {

constexpr size_t kMostSysfsBytes = 16384;

std::string_view without_end(std::string_view text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.remove_suffix(1);
  return text;
}

std::string quoted(std::string_view text) { return "'" + std::string(text.substr(0, 40)) + "'"; }

bool take_number(std::string_view& text, uint32_t& value) {
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  text.remove_prefix(size_t(stop - text.data()));
  return error == std::errc();
}

bool take_sign(std::string_view& text, char sign) {
  if (text.empty() || text.front() != sign) return false;
  text.remove_prefix(1);
  return true;
}

bool parse_cpus(std::string_view text, cpu_set_t& cpus) {
  if (text.empty()) return true;  // memory that has no cores
  do {
    uint32_t first = 0, last = 0;
    if (!take_number(text, first)) return false;
    last = first;
    if (take_sign(text, '-') && !take_number(text, last)) return false;
    if (last < first || last >= CPU_SETSIZE) return false;
    for (uint32_t cpu = first; cpu <= last; cpu++) CPU_SET(cpu, &cpus);
  } while (take_sign(text, ','));
  return text.empty();
}

}  // namespace

void Notes::add(const std::filesystem::path& file, const std::string& why) {
  std::string line = file.string() + ":1: " + why;
  make_printable(line);
  if (lines_.size() < kMostNotes && std::ranges::find(lines_, line) == lines_.end())
    lines_.push_back(std::move(line));
}

std::optional<int64_t> whole_number_in(const std::filesystem::path& file, int64_t least, int64_t most,
                                       Notes& notes) {
  const auto whole = documents::read_file(file, kMostSysfsBytes);
  if (!whole.ok()) return std::nullopt;
  const std::string_view text = without_end(*whole);
  int64_t value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc() && stop == text.data() + text.size() && value >= least && value <= most)
    return value;
  notes.add(file, fmt::format("{} is no number from {} to {}", quoted(text), least, most));
  return std::nullopt;
}

cpu_set_t cpus_in(const std::filesystem::path& file, Notes& notes) {
  cpu_set_t cpus, none;
  CPU_ZERO(&cpus);
  CPU_ZERO(&none);
  const auto whole = documents::read_file(file, kMostSysfsBytes);
  if (!whole.ok()) return none;
  const std::string_view text = without_end(*whole);
  if (parse_cpus(text, cpus)) return cpus;
  notes.add(file, fmt::format("{} is no list of CPUs below {}", quoted(text), CPU_SETSIZE));
  return none;
}

double number_in(const std::filesystem::path& file) {
  const auto text = documents::read_file(file, 4096);
  double value = 0;
  if (text.ok()) std::from_chars(text->data(), text->data() + text->size(), value);
  return value > 0 && value < 1e9 ? value : 0;
}

}  // namespace plait::topology
