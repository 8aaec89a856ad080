// The module plait_verbs.so: PLAIT_NETWORK=verbs, verbs:DEVICE, verbs:DEVICE/PORT, each with ?OPTIONS.
#include <charconv>

#include "base/option_text.h"
#include "rdma/ports.h"
#include "transport/module.h"
#include "transport/verbs/verbs.h"

namespace plait::transport::verbs {
namespace {

using Text = std::string_view;

bool take_connect(Text text, Options& to) {
  to.connect = text == "cm" ? Connect::cm : Connect::tickets;
  return text == "cm" || text == "tickets";
}

// What the device can do of it is known when it is opened.
constexpr OptionKey<Options> kKeys[] = {
    {"traffic_class", "0 to 255",
     [](Text t, Options& to) { return take_option(t, 0, 255, to.traffic_class); }},
    {"service_level", "0 to 15", [](Text t, Options& to) { return take_option(t, 0, 15, to.service_level); }},
    {"gid_index", "0 to 255", [](Text t, Options& to) { return take_option(t, 0, 255, to.gid_index); }},
    {"mtu", "256 to 4096", [](Text t, Options& to) { return take_option(t, 256, 4096, to.mtu); }},
    {"timeout", "1 to 31", [](Text t, Options& to) { return take_option(t, 1, 31, to.timeout); }},
    {"retries", "0 to 7", [](Text t, Options& to) { return take_option(t, 0, 7, to.retries); }},
    {"rnr_retries", "0 to 7", [](Text t, Options& to) { return take_option(t, 0, 7, to.rnr_retries); }},
    {"connect", "tickets or cm", take_connect},
    {"depth", "1 to 4096", [](Text t, Options& to) { return take_option(t, 1, 4096, to.depth); }},
    {"signals", "1 to 1023", [](Text t, Options& to) { return take_option(t, 1, 1023, to.signals); }},
    {"inline", "bytes, 0 to 4K",
     [](Text t, Options& to) { return take_option(t, 0, 4096, to.inline_bytes); }},
    {"relaxed_ordering", "0 or 1", [](Text t, Options& to) { return take_option(t, to.relaxed_ordering); }},
    {"cache", "bytes, 0 for none",
     [](Text t, Options& to) { return take_option(t, 0, UINT64_MAX, to.cached_bytes); }},
    {"memory_windows", "0 or 1", [](Text t, Options& to) { return take_option(t, to.memory_windows); }},
    {"on_demand_paging", "0 or 1", [](Text t, Options& to) { return take_option(t, to.on_demand_paging); }},
};

Result<std::unique_ptr<Domain>> open(const RailRequest& request) {
  Options options;
  const size_t slash = request.detail.find('/');
  options.device = request.detail.substr(0, slash);
  if (slash != std::string::npos) {
    const std::string port = request.detail.substr(slash + 1);
    const char* end = port.data() + port.size();
    auto [stop, error] = std::from_chars(port.data(), end, options.port);
    if (error != std::errc() || stop != end || options.port == 0)
      return Status(Code::invalid, "\"" + port + "\" is no port: they count from 1 to 255");
  }
  if (!request.options.empty()) PLAIT_TRY(parse_options<Options>(request.options, kKeys, options));
  return make_domain(options);
}

std::vector<RailListing> list() {
  std::string none;
  std::vector<RailListing> all;
  for (const rdma::Port& port : rdma::find_ports(&none)) {
    const std::string name = "verbs:" + port.device + (port.port > 1 ? "/" + std::to_string(port.port) : "");
    all.push_back({name, port.why_not.empty() ? rdma::describe(port) : std::string(), port.why_not});
  }
  if (all.empty()) all.push_back({"verbs", "", none});
  return all;
}

constexpr Module kModule{kModuleBuild, log_to, open, list};

}  // namespace
}  // namespace plait::transport::verbs

const plait::transport::Module* plait_fabric_module() { return &plait::transport::verbs::kModule; }
