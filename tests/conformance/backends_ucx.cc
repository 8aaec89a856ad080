#include <algorithm>

#include "conformance/backends.h"
#include "transport/ucx/ucx.h"

namespace plait::transport::conformance {
namespace {

// `needed`: a transport that must be there, or the tests are skipped.
Backend backend(std::string name, std::string transports, std::string devices, std::string needed,
                std::vector<Exclusion> excluded) {
  const auto make = [transports, devices, needed]() -> Result<std::unique_ptr<World>> {
    const auto found = ucx::list();
    if (std::ranges::none_of(found, [&](const ucx::Device& d) { return d.transport == needed; }))
      return Status(Code::unsupported, "UCX finds no " + needed + " here");
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
  const Exclusion undetected{"Rule04_DeathWhileConnecting",
                             "in shared memory UCX tells of processes that died, not of a domain that was "
                             "destroyed in one that lives"};
  const Exclusion keeps{
      "SendsThatAreDoneHaveLeft",
      "UCX calls a message sent that it keeps until its lane is up, which takes its progress"};
  const Exclusion aborts{"Rule04_DeathWhileConnecting",
                         "UCX 1.13 aborts the process when a peer is gone to which RDMA is being connected"};
  return {
      backend("ucx_tcp", "tcp", "lo", "tcp", {}),
      backend("ucx_shm", "posix,sysv,cma", "", "posix", {undetected, keeps}),
      backend("ucx_rc", "rc_verbs,tcp", "", "rc_verbs", {aborts}),  // TCP is what it connects by
  };
}

}  // namespace plait::transport::conformance
