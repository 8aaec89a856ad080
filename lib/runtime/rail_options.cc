#include "runtime/rail_options.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <optional>

namespace plait::runtime {
namespace {

using transport::tcp::EngineKind;

constexpr uint64_t kMostConnections = 4;
constexpr uint64_t kMostBuffer = uint64_t{1} << 30;
constexpr uint64_t kMostPacing = uint64_t{1} << 50;

struct Engine {
  std::string_view name;
  EngineKind kind;
};
constexpr Engine kEngines[] = {
    {"automatic", EngineKind::automatic}, {"polled", EngineKind::polled}, {"io_uring", EngineKind::uring}};

// A whole number, with K, M or G behind it times 2^10, 2^20 or 2^30.
std::optional<uint64_t> number_of(std::string_view text, uint64_t least, uint64_t most) {
  uint64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc()) return std::nullopt;
  int shift = 0;
  if (const std::string_view unit(stop, size_t(end - stop)); !unit.empty()) {
    const size_t which = std::string_view("KMG").find(unit);
    if (unit.size() != 1 || which == std::string_view::npos) return std::nullopt;
    shift = 10 * (int(which) + 1);
  }
  if (value > (UINT64_MAX >> shift)) return std::nullopt;
  value <<= shift;
  return value < least || value > most ? std::nullopt : std::optional(value);
}

bool take_number(std::string_view text, uint64_t least, uint64_t most, uint64_t& to) {
  const auto value = number_of(text, least, most);
  if (value) to = *value;
  return value.has_value();
}

bool take_tls(std::string_view text, RailOptions& to) {
  to.tls = text == "1";
  return text == "0" || text == "1";
}
bool take_connections(std::string_view text, RailOptions& to) {
  uint64_t value = 0;
  const bool fine = take_number(text, 1, kMostConnections, value);
  if (fine) to.connections = int(value);
  return fine;
}
bool take_send(std::string_view text, RailOptions& to) {
  return take_number(text, 0, kMostBuffer, to.send_buffer);
}
bool take_receive(std::string_view text, RailOptions& to) {
  return take_number(text, 0, kMostBuffer, to.receive_buffer);
}
bool take_pacing(std::string_view text, RailOptions& to) {
  return take_number(text, 0, kMostPacing, to.pacing);
}
bool take_engine(std::string_view text, RailOptions& to) {
  const auto* found = std::ranges::find(kEngines, text, &Engine::name);
  if (found == std::end(kEngines)) return false;
  to.engine = found->kind;
  return true;
}

struct Key {
  std::string_view name, values;
  bool (*take)(std::string_view text, RailOptions& to);
};
constexpr Key kKeys[] = {
    {"tls", "0 or 1", take_tls},
    {"connections", "1 to 4", take_connections},
    {"send_buffer", "bytes, 1G at most, 0 for the kernel's choice", take_send},
    {"receive_buffer", "bytes, 1G at most, 0 for the kernel's choice", take_receive},
    {"pacing", "bytes a second, 0 for none", take_pacing},
    {"engine", "automatic, polled or io_uring", take_engine},
};

std::string all_keys() {
  std::string text;
  for (const Key& key : kKeys)
    text += (text.empty() ? "" : "; ") + std::string(key.name) + "= " + std::string(key.values);
  return text;
}

Status wrong(std::string_view pair, const std::string& why) {
  return {Code::invalid,
          "the option \"" + std::string(pair) + "\" " + why + ": there are (with + between) " + all_keys()};
}

}  // namespace

Result<RailOptions> parse_rail_options(std::string_view text) {
  RailOptions options;
  unsigned seen = 0;
  while (true) {
    const size_t plus = text.find('+');
    const std::string_view pair = text.substr(0, plus);
    const size_t equal = pair.find('=');
    const auto* key = std::ranges::find(kKeys, pair.substr(0, equal), &Key::name);
    if (equal == pair.npos || key == std::end(kKeys)) return wrong(pair, "is none");
    const unsigned bit = 1U << (key - std::begin(kKeys));
    if ((seen & bit) != 0) return wrong(pair, "is there twice");
    seen |= bit;
    if (!key->take(pair.substr(equal + 1), options)) return wrong(pair, "makes no sense");
    if (plus == text.npos) break;
    text.remove_prefix(plus + 1);
  }
  if (options.tls && options.engine == EngineKind::uring) {
    return Status(Code::invalid,
                  "the options tls=1 and engine=io_uring exclude each other: with TLS sockets are polled");
  }
  return options;
}

std::string to_string(const RailOptions& options) {
  std::string text;
  const auto add = [&](const char* key, const std::string& value) {
    text += (text.empty() ? "" : "+") + std::string(key) + "=" + value;
  };
  if (options.tls) add("tls", "1");
  if (options.connections != 1) add("connections", std::to_string(options.connections));
  if (options.send_buffer != 0) add("send_buffer", std::to_string(options.send_buffer));
  if (options.receive_buffer != 0) add("receive_buffer", std::to_string(options.receive_buffer));
  if (options.pacing != 0) add("pacing", std::to_string(options.pacing));
  if (options.engine != EngineKind::automatic)
    add("engine", std::string(std::ranges::find(kEngines, options.engine, &Engine::kind)->name));
  return text;
}

}  // namespace plait::runtime
