// The module plait_verbs.so: PLAIT_NETWORK=verbs, verbs:DEVICE, verbs:DEVICE/PORT.
#include <charconv>

#include "rdma/ports.h"
#include "transport/module.h"
#include "transport/verbs/verbs.h"

namespace plait::transport::verbs {
namespace {

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
