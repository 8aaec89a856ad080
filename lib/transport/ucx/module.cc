// The module plait_ucx.so: PLAIT_NETWORK=ucx, ucx:TRANSPORTS, ucx:TRANSPORTS/DEVICES, with + for UCX's
// commas.
#include <algorithm>

#include "transport/module.h"
#include "transport/ucx/ucx.h"

namespace plait::transport::ucx {
namespace {

std::string with_commas(std::string text) {
  std::ranges::replace(text, '+', ',');
  return text;
}

Result<std::unique_ptr<Domain>> open(const RailRequest& request) {
  Options options;
  const size_t slash = request.detail.find('/');
  options.transports = with_commas(request.detail.substr(0, slash));
  if (slash != std::string::npos) options.devices = with_commas(request.detail.substr(slash + 1));
  options.label = "ucx" + (request.detail.empty() ? "" : ":" + request.detail);
  options.bandwidth_Bps = request.bandwidth_Bps;
  return make_domain(options);
}

// A line for each transport, with its devices.
std::vector<RailListing> list() {
  std::vector<RailListing> all;
  for (const Device& device : ucx::list()) {
    const std::string name = "ucx:" + device.transport;
    auto it = std::ranges::find(all, name, &RailListing::name);
    if (it == all.end()) {
      all.push_back({name, "on " + device.device, ""});
    } else {
      it->can += ", " + device.device;
    }
  }
  return all;
}

constexpr Module kModule{kModuleBuild, log_to, open, list};

}  // namespace
}  // namespace plait::transport::ucx

const plait::transport::Module* plait_fabric_module() { return &plait::transport::ucx::kModule; }
