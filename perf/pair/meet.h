// How a client finds its server: by a TCP port, where anybody may come.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/clock.h"
#include "bootstrap/link.h"
#include "bootstrap/secret.h"

namespace plait::perf::pair {

struct Met {
  std::unique_ptr<bootstrap::Link> link;  // open: the handshake is over
  Bytes hello;                            // the server's: what the client said first
};

// Waits at `port` until somebody has gone through the handshake and said a hello that can be read. Who does
// not within 5 s is sent away, with a warning for the first of them. Code::timeout, Code::state: the port is
// taken.
// Port 0: one that is free. `listening` hears the port from which on a client may come.
Result<Met> await_client(bootstrap::Poller& poller, uint16_t port, const bootstrap::SecretPtr& secret,
                         const Deadline& deadline, const std::function<void(uint16_t)>& listening);

// Dials all addresses of `host`, again and again while nobody listens there. Code::peer, Code::timeout: why
// nobody answers; Code::auth, Code::version: who answers is another one; Code::invalid: no such host.
Result<Met> dial_server(bootstrap::Poller& poller, const std::string& host, uint16_t port,
                        const bootstrap::SecretPtr& secret, const Deadline& deadline);

}  // namespace plait::perf::pair
