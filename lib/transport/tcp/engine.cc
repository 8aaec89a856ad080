#include "transport/tcp/engine.h"

#include "base/log.h"
#include "transport/tcp/polled.h"
#include "transport/tcp/tls.h"

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

Status tls_status() { return TlsContext::make({}).status(); }

std::string describe(const Options& options) {
  std::string text;
  switch (options.engine) {
    case EngineKind::automatic:
      text = "polled sockets (automatic: they cost less)";
      break;
    case EngineKind::polled:
      text = "polled sockets";
      break;
    case EngineKind::uring:
      text = uring_status().ok() ? "io_uring" : "polled sockets (there is no io_uring here)";
      break;
  }
  if (options.bulk_connections != 1)
    text += ", " + std::to_string(options.bulk_connections) + " connections for bulk";
  if (options.send_buffer != 0) text += ", send buffers of " + std::to_string(options.send_buffer) + " B";
  if (options.receive_buffer != 0)
    text += ", receive buffers of " + std::to_string(options.receive_buffer) + " B";
  if (options.pacing_Bps > 0) text += ", paced at " + std::to_string(uint64_t(options.pacing_Bps)) + " B/s";
  return text + (options.tls ? ", TLS 1.3" : ", no TLS");
}

}  // namespace plait::transport::tcp
