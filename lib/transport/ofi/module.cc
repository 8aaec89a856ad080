// The module plait_ofi.so: PLAIT_NETWORK=ofi, ofi:PROVIDER, ofi:PROVIDER/DOMAIN.
#include <algorithm>

#include "transport/module.h"
#include "transport/ofi/ofi.h"

namespace plait::transport::ofi {
namespace {

// Providers with IP addresses listen on the one that reached the other ranks already.
std::string first_address(const RailRequest& request) {
  return request.addresses.empty() ? std::string() : to_string(request.addresses.front());
}

Result<std::unique_ptr<Domain>> open(const RailRequest& request) {
  Options options;
  const size_t slash = request.detail.find('/');
  if (!request.detail.empty()) options.provider = request.detail.substr(0, slash);
  if (slash != std::string::npos) options.domain = request.detail.substr(slash + 1);
  if (options.domain.empty() && options.provider.find("tcp") != std::string::npos)
    options.address = first_address(request);
  options.label = "ofi:" + options.provider;
  options.bandwidth_Bps = request.bandwidth_Bps;
  return make_domain(options);
}

// libfabric names a domain once for each of its addresses and protocols: once is enough here.
std::vector<RailListing> list() {
  std::vector<RailListing> all;
  for (const fabric::Offer& offer : fabric::list("")) {
    RailListing one{"ofi:" + offer.provider + (offer.domain.empty() ? "" : "/" + offer.domain), offer.use(),
                    offer.mode == Mode::automatic ? offer.why : std::string()};
    auto same = [&](const RailListing& l) { return l.name == one.name; };
    if (std::ranges::none_of(all, same)) all.push_back(std::move(one));
  }
  return all;
}

constexpr Module kModule{kModuleBuild, log_to, open, list};

}  // namespace
}  // namespace plait::transport::ofi

const plait::transport::Module* plait_fabric_module() { return &plait::transport::ofi::kModule; }
