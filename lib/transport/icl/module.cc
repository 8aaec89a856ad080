// The module plait_icl.so: PLAIT_NETWORK=icl:emu:/dev/shm/pod, each rank the chip of its number, or
// icl:emu:/dev/shm/pod#3.
#include "transport/icl/icl.h"

namespace plait::transport::icl {
namespace {

Result<std::unique_ptr<Domain>> open(const RailRequest& request) {
  auto options = parse_detail(request.detail);
  if (!options.ok()) return options.status();
  options->prefer = request.rank;
  return make_domain(*options);
}

constexpr Module kModule{kModuleBuild, log_to, open, list, map_of};

}  // namespace
}  // namespace plait::transport::icl

const plait::transport::Module* plait_fabric_module() { return &plait::transport::icl::kModule; }
