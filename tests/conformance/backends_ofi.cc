// libfabric's providers: tcp and shm on any machine, RDMA where a device is.
#include <cstdlib>
#include <string_view>

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

// Over RDMA devices, as far as they let endpoints open.
Backend rxm() {
  Backend made = backend("ofi_rxm", "verbs;ofi_rxm");
  made.make = [make = made.make]() -> Result<std::unique_ptr<World>> {
    auto world = make();
    if (!world.ok()) return world;
    if (const auto end = (*world)->domain(0).open(1, 0); !end.ok())
      return Status(Code::unsupported, std::string(end.status().text()));
    return world;
  };
  const char* cache = std::getenv("FI_MR_CACHE_MAX_COUNT");
  if (cache != nullptr && std::string_view(cache) == "0") return made;
  const std::string why =
      "libfabric keeps memory registered that was closed, in its cache (off with FI_MR_CACHE_MAX_COUNT=0)";
  made.excluded = {{"Rule08_ARevokedRegionIsAnError", why}, {"Rule12_OldKeysDoNotOpenNewRegions", why}};
  return made;
}

}  // namespace

std::vector<Backend> ofi_backends() {
  return {
      backend("ofi_tcp", "tcp", "127.0.0.1"),
      backend("ofi_tcp_messages", "tcp", "127.0.0.1", ofi::Mode::messages),
      backend("ofi_shm", "shm"),
      rxm(),
  };
}

}  // namespace plait::transport::conformance
