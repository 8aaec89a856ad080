#include "transport/tcp/engine.h"

#include "base/log.h"
#include "transport/tcp/polled.h"

namespace plait::transport::tcp {

// automatic is polled: wherever the two were measured beside each other, from 1 peer to 64, polled sockets
// took less time or as much, and less of the processor (docs/transport.md).
std::unique_ptr<Engine> make_engine(EngineKind kind, Poller& poller, const std::string& label) {
  std::unique_ptr<Engine> engine;
  if (kind == EngineKind::uring) {
    auto ring = make_uring_engine(poller);
    if (ring.ok()) engine = std::move(*ring);
    if (!ring.ok()) log::warn("{}: {}; polled sockets are used instead", label, ring.status().text());
  }
  if (!engine) engine = std::make_unique<PolledEngine>(poller);
  log::info("{}: {} move its bytes{}", label, engine->name(),
            kind == EngineKind::automatic ? " (chosen, as they cost less)" : "");
  return engine;
}

}  // namespace plait::transport::tcp
