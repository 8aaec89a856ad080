// Of a build without liburing.
#include "transport/tcp/engine.h"

namespace plait::transport::tcp {

Result<std::unique_ptr<Engine>> make_uring_engine(Poller& /*poller*/) {
  return Status(Code::unsupported,
                "tcp: this build has no io_uring (it needs liburing: meson setup -During=enabled)");
}

Status uring_status() { return Status(Code::unsupported, "this build has no io_uring"); }

}  // namespace plait::transport::tcp
