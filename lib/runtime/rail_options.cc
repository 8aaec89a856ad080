#include "runtime/rail_options.h"

#include <algorithm>
#include <iterator>

#include "base/option_text.h"

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

bool take_tls(std::string_view text, RailOptions& to) { return take_option(text, to.tls); }
bool take_connections(std::string_view text, RailOptions& to) {
  return take_option(text, 1, kMostConnections, to.connections);
}
bool take_send(std::string_view text, RailOptions& to) {
  return take_option(text, 0, kMostBuffer, to.send_buffer);
}
bool take_receive(std::string_view text, RailOptions& to) {
  return take_option(text, 0, kMostBuffer, to.receive_buffer);
}
bool take_pacing(std::string_view text, RailOptions& to) {
  return take_option(text, 0, kMostPacing, to.pacing);
}
bool take_engine(std::string_view text, RailOptions& to) {
  const auto* found = std::ranges::find(kEngines, text, &Engine::name);
  if (found == std::end(kEngines)) return false;
  to.engine = found->kind;
  return true;
}

constexpr OptionKey<RailOptions> kKeys[] = {
    {"tls", "0 or 1", take_tls},
    {"connections", "1 to 4", take_connections},
    {"send_buffer", "bytes, 1G at most, 0 for the kernel's choice", take_send},
    {"receive_buffer", "bytes, 1G at most, 0 for the kernel's choice", take_receive},
    {"pacing", "bytes a second, 0 for none", take_pacing},
    {"engine", "automatic, polled or io_uring", take_engine},
};

}  // namespace

Result<RailOptions> parse_rail_options(std::string_view text) {
  RailOptions options;
  PLAIT_TRY(parse_options<RailOptions>(text, kKeys, options));
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
