#include "tools/run/record.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/file.h"

namespace plait::run {
namespace {

using nlohmann::json;

constexpr size_t kMostText = 300;
constexpr int kMostRanks = 1 << 20;
constexpr size_t kMostRailsOut = 64;

// Each takes `object[name]` if it is there and of the right kind and size.
template <class Integer>
bool take(const json& object, const char* name, Integer& to) {
  const auto it = object.find(name);
  if (it == object.end() || !it->is_number_integer()) return false;
  const bool positive = it->is_number_unsigned();
  const uint64_t large = positive ? it->get<uint64_t>() : 0;
  const int64_t small = positive ? 0 : it->get<int64_t>();
  if (large > uint64_t(std::numeric_limits<Integer>::max())) return false;
  if (small < 0 && (!std::is_signed_v<Integer> || small < int64_t(std::numeric_limits<Integer>::min())))
    return false;
  to = positive ? Integer(large) : Integer(small);
  return true;
}

bool take(const json& object, const char* name, bool& to) {
  const auto it = object.find(name);
  if (it == object.end() || !it->is_boolean()) return false;
  to = it->get<bool>();
  return true;
}

// A terminal shows it later: nothing in it may steer one.
bool take(const json& object, const char* name, std::string& to) {
  const auto it = object.find(name);
  if (it == object.end() || !it->is_string()) return false;
  to = it->get_ref<const std::string&>();
  if (to.size() > kMostText) to = to.substr(0, kMostText) + "...";
  for (char& c : to) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  }
  return true;
}

// The list `object[name]`, empty when there is none.
const json& list(const json& object, const char* name) {
  static const json none = json::array();
  const auto it = object.find(name);
  return it != object.end() && it->is_array() ? *it : none;
}

// As plait's own errors write what they hash.
std::string hexadecimal(uint64_t hash) {
  char text[24];
  std::snprintf(text, sizeof text, "%08" PRIx64, hash);
  return text;
}

std::string arguments_of(const json& o) {
  std::string text, word;
  uint64_t count = 0, counts = 0, hash = 0;
  int root = 0;
  bool in_place = false;
  auto add = [&](const std::string& part) { text += (text.empty() ? "" : ", ") + part; };
  const bool uneven = take(o, "counts", counts);
  if (uneven && take(o, "counts_hash", hash)) {
    add(std::to_string(counts) + " counts #" + hexadecimal(hash));
  } else if (uneven) {
    add(std::to_string(counts) + " counts");
  }
  if (take(o, "count", count))
    add(uneven ? std::to_string(count) + " elements" : "count=" + std::to_string(count));
  if (take(o, "dtype", word)) add(word);
  if (take(o, "op", word)) add(word);
  if (take(o, "root", root)) add("root=" + std::to_string(root));
  if (take(o, "in_place", in_place) && in_place) add("in place");
  if (take(o, "algorithm", word)) add("by " + word);
  return text;
}

bool take_identity(const json& d, Record& r) {
  int version = 0;
  return take(d, "plait_dump", version) && version == 1 && take(d, "why", r.why) && take(d, "job", r.job) &&
         take(d, "communicator", r.communicator) && take(d, "rank", r.rank) && take(d, "size", r.size) &&
         take(d, "pid", r.pid) && take(d, "clock_ns", r.clock_ns) && take(d, "signal", r.signal) &&
         take(d, "created", r.created) && take(d, "started", r.started) && take(d, "done", r.done) &&
         r.size >= 1 && r.size <= kMostRanks && r.rank >= 0 && r.rank < r.size && r.pid > 1;
}

void take_failure(const json& d, Record& r) {
  Record::Failure f;
  if (const auto it = d.find("error");
      it != d.end() && take(*it, "name", f.name) && take(*it, "text", f.text))
    r.failure = f;
}

void take_wait(const json& d, Record& r) {
  Record::Wait w;
  const auto it = d.find("waiting");
  if (it == d.end() || !take(*it, "operation", w.operation) || !take(*it, "ms", w.ms)) return;
  if (take(*it, "seen_ms_ago", w.seen_ms_ago) && take(*it, "for", w.peers)) r.wait = w;
}

void take_arrived(const json& d, Record& r) {
  for (const json& entry : list(d, "arrived")) {
    Record::Arrived a;
    const json& ranks = list(entry, "ranks");
    if (ranks.size() != 2 || !take(entry, "operation", a.operation)) continue;
    const json ends = {{"first", ranks[0]}, {"last", ranks[1]}};
    if (!take(ends, "first", a.first) || !take(ends, "last", a.last)) continue;
    const int next = r.arrived.empty() ? 0 : r.arrived.back().last + 1;  // a rank comes once
    if (a.first >= next && a.first <= a.last && a.last < r.size) r.arrived.push_back(a);
  }
}

// What is told last of a rail counts. One whose end the other rails did not outlive is not settled: what
// broke the communicator tells of it.
void take_rails(const json& d, Record& r) {
  const json& rails = list(d, "rails");
  for (const json& entry : list(d, "rail_events")) {
    Record::Rail rail;
    std::string what;
    if (!take(entry, "what", what) || !take(entry, "rank", rail.rank) || !take(entry, "rail", rail.rail) ||
        !take(entry, "ms_ago", rail.ms_ago) || rail.rank < 0 || rail.rank >= r.size)
      continue;
    auto same = [&](const Record::Rail& o) { return o.rank == rail.rank && o.rail == rail.rail; };
    if (what == "back") std::erase_if(r.rails_out, same);
    if (what != "settled" || std::any_of(r.rails_out.begin(), r.rails_out.end(), same)) continue;
    if (rail.rail >= rails.size() || !take(rails[rail.rail], "name", rail.name) ||
        !take(entry, "why", rail.why) || r.rails_out.size() == kMostRailsOut)
      continue;
    r.rails_out.push_back(rail);
  }
}

void take_operations(const json& d, Record& r) {
  for (const json& entry : list(d, "operations")) {
    Operation o;
    if (!take(entry, "number", o.number) || !take(entry, "kind", o.kind)) continue;
    o.arguments = arguments_of(entry);
    r.operations.push_back(o);
  }
  std::sort(r.operations.begin(), r.operations.end(), [](auto& a, auto& b) { return a.number < b.number; });
}

}  // namespace

const Operation* Record::find(uint64_t number) const {
  const auto it = std::lower_bound(operations.begin(), operations.end(), number,
                                   [](const Operation& o, uint64_t n) { return o.number < n; });
  return it == operations.end() || it->number != number ? nullptr : &*it;
}

std::optional<Record> parse_record(std::string_view text) {
  if (text.size() > kMostRecordBytes) return {};
  const json d = json::parse(text, nullptr, false);
  Record r;
  if (!d.is_object() || !take_identity(d, r)) return {};
  (void)take(d, "split", r.split);
  take_failure(d, r);
  take_wait(d, r);
  take_arrived(d, r);
  take_rails(d, r);
  take_operations(d, r);
  return r;
}

std::optional<Record> load_record(const std::string& path) {
  Fd file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat info {};
  if (!file || fstat(file.get(), &info) != 0 || !S_ISREG(info.st_mode)) return {};
  if (info.st_size <= 0 || size_t(info.st_size) > kMostRecordBytes) return {};
  std::string text(size_t(info.st_size), '\0');
  const ssize_t got = read(file.get(), text.data(), text.size());
  return got == info.st_size ? parse_record(text) : std::nullopt;
}

}  // namespace plait::run
