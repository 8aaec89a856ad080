// Inter-chip links: pods of emulated chips, without modelled slowness, a chip a rank.
#include <unistd.h>

#include <atomic>

#include "conformance/backends.h"
#include "drivers/icl/emu/emu.h"
#include "transport/icl/icl.h"

namespace plait::transport::conformance {
namespace {

class Pod {
 public:
  explicit Pod(std::string path) : path_(std::move(path)) {}
  ~Pod() { icl_emu_destroy(path_.c_str()); }
  const std::string& path() const noexcept { return path_; }

 private:
  const std::string path_;
};

class IclWorld final : public World {
 public:
  IclWorld(std::unique_ptr<Pod> pod, std::vector<std::unique_ptr<Domain>> domains)
      : World(std::move(domains)), pod_(std::move(pod)) {}

 private:
  const std::unique_ptr<Pod> pod_;
};

// `chips`: of the ranks.
Backend icl_backend(std::string name, const std::string& graph, std::vector<int> chips,
                    const icl::Options& options = {}) {
  auto make = [graph, chips, options]() -> Result<std::unique_ptr<World>> {
    static std::atomic<int> made{0};
    const std::string path =
        "/dev/shm/plait-conformance-" + std::to_string(getpid()) + "-" + std::to_string(made++);
    // Silence means nothing on a machine that is shared.
    const std::string text = graph + "; mbps=0 latency=0ns memory=64K silent=60s";
    if (icl_emu_create(path.c_str(), text.c_str(), nullptr) != ICL_OK)
      return Status(Code::system, icl_last_error());
    auto pod = std::make_unique<Pod>(path);
    std::vector<std::unique_ptr<Domain>> domains;
    for (int chip : chips) {
      icl::Options own = options;
      own.address = "emu:" + path;
      own.chip = chip;
      auto domain = icl::make_domain(own);
      if (!domain.ok()) return domain.status();
      domains.push_back(std::move(*domain));
    }
    return std::unique_ptr<World>(std::make_unique<IclWorld>(std::move(pod), std::move(domains)));
  };
  Backend backend{std::move(name), make};
  backend.moves_in_poll = false;
  backend.excluded = {{"Rule12_ATicketServesOnce",
                       "a chip connects by itself: who uses a ticket of others learns by its first transfer, "
                       "which is refused"}};
  return backend;
}

}  // namespace

std::vector<Backend> icl_backends() {
  icl::Options little;
  little.depth = 2;
  return {icl_backend("icl_full", "full 3", {0, 1, 2}),
          icl_backend("icl_mesh", "mesh 1x3", {0, 2, 1}),  // a chip lies between ranks 0 and 1
          icl_backend("icl_little", "ring 3", {2, 0, 1}, little)};
}

}  // namespace plait::transport::conformance
