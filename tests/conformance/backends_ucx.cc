#include "conformance/backends.h"
#include "transport/ucx/ucx.h"

namespace plait::transport::conformance {
namespace {

Backend backend(std::string name, std::string transports, std::string devices,
                std::vector<Exclusion> excluded) {
  const auto make = [transports, devices] {
    return world_of([&](int rank) {
      ucx::Options options;
      options.transports = transports;
      options.devices = devices;
      options.label = "ucx:" + std::to_string(rank);
      return ucx::make_domain(options);
    });
  };
  // UCX's progress decides how much a poll moves.
  return {std::move(name), make, false, std::move(excluded)};
}

}  // namespace

std::vector<Backend> ucx_backends() {
  return {
      backend("ucx_tcp", "tcp", "lo", {}),
      backend(
          "ucx_shm", "posix,sysv,cma", "",
          {{"Rule04_DeathWhileConnecting",
            "in shared memory UCX tells of processes that died, not of a domain that was destroyed in one "
            "that lives"}}),
  };
}

}  // namespace plait::transport::conformance
