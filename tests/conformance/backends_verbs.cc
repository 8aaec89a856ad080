// RDMA verbs: where this machine has a device (tests/lab/vm/run has two).
#include "conformance/backends.h"
#include "rdma/ports.h"
#include "transport/verbs/verbs.h"

namespace plait::transport::conformance {
namespace {

// Ranks take the ports in turn.
Backend verbs_backend(std::string name, const verbs::Options& options) {
  auto make = [options]() -> Result<std::unique_ptr<World>> {
    std::vector<rdma::Port> usable;
    std::string why;
    for (rdma::Port& port : rdma::find_ports(&why)) {
      if (port.why_not.empty())
        usable.push_back(std::move(port));
      else
        why += port.device + " port " + std::to_string(port.port) + ": " + port.why_not + ". ";
    }
    if (usable.empty()) return Status(Code::unsupported, "no RDMA port can be used here: " + why);
    return world_of([&](int rank) {
      verbs::Options own = options;
      const rdma::Port& port = usable[size_t(rank) % usable.size()];
      own.device = port.device;
      own.port = port.port;
      // To soft-RoCE without end: on a busy emulated machine packets wait, and get lost, for seconds. After a
      // second, not 67 ms: soft-RoCE (Linux 6.1) now and then sends again what its peer refuses as an invalid
      // request.
      own.retries = 7;
      own.timeout = 18;
      own.label = "verbs:" + std::to_string(rank);
      return verbs::make_domain(own);
    });
  };
  Backend made{std::move(name), make};
  made.moves_in_poll = false;
  made.excluded = {
      {"Rule08_ARegionRevokedInMidGet",
       "soft-RoCE (Linux 6.1) completes a read with success though its region was taken back under way"}};
  return made;
}

}  // namespace

std::vector<Backend> verbs_backends() {
  verbs::Options manager, little, windows;
  manager.connect = verbs::Connect::cm;
  little.depth = 2;
  little.signals = 3;
  little.inline_bytes = 0;
  little.mtu = 256;
  windows.memory_windows = windows.trusting = true;  // nothing here puts guards into memory
  return {verbs_backend("verbs_tickets", {}), verbs_backend("verbs_cm", manager),
          verbs_backend("verbs_little", little), verbs_backend("verbs_windows", windows)};
}

}  // namespace plait::transport::conformance
