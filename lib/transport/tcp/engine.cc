#include "transport/tcp/engine.h"

#include "base/log.h"
#include "transport/tcp/polled.h"

namespace plait::transport::tcp {

std::unique_ptr<Engine> make_engine(EngineKind kind, Poller& poller, const std::string& label) {
  if (kind == EngineKind::uring) {
    auto ring = make_uring_engine(poller);
    if (ring.ok()) return std::move(*ring);
    log::warn("{}: {}; polled sockets are used instead", label, ring.status().text());
  }
  return std::make_unique<PolledEngine>(poller);
}

}  // namespace plait::transport::tcp
