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
constexpr uint64_t kLeastRate = 1024;  // below this, connecting alone would take minutes

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

bool take_rate(std::string_view text, RailRate& to) {
  return take_option(text, kLeastRate, kMostPacing, to.rate);
}
bool take_burst(std::string_view text, RailRate& to) { return take_option(text, 1, kMostBuffer, to.burst); }

constexpr OptionKey<RailRate> kRateKeys[] = {
    {"rate", "bytes a second, 1K at least", take_rate},
    {"burst", "bytes, 1G at most", take_burst},
};

}  // namespace

Result<std::optional<std::string>> take_rail_rate(std::string_view text, RailRate* to) {
  std::string of_rate;
  std::optional<std::string> others;
  while (true) {
    const size_t plus = text.find('+');
    const std::string_view pair = text.substr(0, plus), key = pair.substr(0, pair.find('='));
    const bool mine = std::ranges::find(kRateKeys, key, &OptionKey<RailRate>::name) != std::end(kRateKeys);
    if (mine) {
      (of_rate += of_rate.empty() ? "" : "+") += pair;
    } else {
      others = (others ? *others + "+" : "") + std::string(pair);
    }
    if (plus == text.npos) break;
    text.remove_prefix(plus + 1);
  }
  if (!of_rate.empty()) PLAIT_TRY(parse_options<RailRate>(of_rate, kRateKeys, *to));
  if (to->burst != 0 && to->rate == 0)
    return Status(Code::invalid, "the option burst= is of a rate=, which is not there");
  return others;
}

std::string to_string(const RailRate& rate) {
  if (rate.rate == 0) return {};
  return "rate=" + std::to_string(rate.rate) +
         (rate.burst == 0 ? "" : "+burst=" + std::to_string(rate.burst));
}

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
