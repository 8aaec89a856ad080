// libfabric's providers: tcp and shm on any machine, RDMA where a device is.
#include "conformance/backends.h"
#include "transport/ofi/ofi.h"

namespace plait::transport::conformance {
namespace {

Backend backend(std::string name, std::string provider, std::string address = "",
                ofi::Mode mode = ofi::Mode::automatic) {
  ofi::Options options;
  options.provider = std::move(provider);
  options.address = std::move(address);
  options.mode = mode;
  Backend made;
  made.name = std::move(name);
  made.make = [options] {
    return world_of([&](int rank) {
      ofi::Options own = options;
      own.label = "ofi:" + own.provider + ":" + std::to_string(rank);
      return ofi::make_domain(own);
    });
  };
  made.moves_in_poll = false;
  return made;
}

}  // namespace

std::vector<Backend> ofi_backends() {
  return {
      backend("ofi_tcp", "tcp", "127.0.0.1"),
      backend("ofi_tcp_messages", "tcp", "127.0.0.1", ofi::Mode::messages),
      backend("ofi_shm", "shm"),
      backend("ofi_rxm", "verbs;ofi_rxm"),
  };
}

}  // namespace plait::transport::conformance
