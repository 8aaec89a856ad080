// Connects a domain to every other rank's: opens endpoints, swaps tickets over an Exchange, polls until all are ready,
// and returns when every rank said so, so that anybody may post.
#pragma once

#include <memory>
#include <vector>

#include "transport/exchange.h"
#include "transport/transport.h"

namespace plait::transport {

// Collective over `exchange`. One endpoint a peer, by rank, null for this rank; each has `counters` counters and its
// rank as cookie. Code::timeout and Code::peer name the rank that failed and the phase; Code::unsupported when the
// domain does not reach a rank.
Result<std::vector<std::unique_ptr<Endpoint>>> wire_up(Domain& domain, Exchange& exchange, uint16_t counters,
                                                       const Bounds& bounds);

}  // namespace plait::transport
