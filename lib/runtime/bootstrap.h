// How the ranks of a job find each other. The one here serves ranks on one host, over Unix sockets with the
// peer's uid checked; another one, over a network, gives the same Exchange.
#pragma once

#include <memory>

#include "runtime/config.h"
#include "transport/exchange.h"

namespace plait::runtime {

// Bumped when anything that ranks tell each other changes its meaning.
constexpr uint32_t kWireVersion = 1;

// Collective: meets the other ranks of `config.job`. `epoch` counts the communicators that this rank made in
// this job, alike on all ranks. Code::timeout names the ranks that did not come; Code::mismatch a size that
// differs or a rank that came twice; Code::version; Code::auth a socket of another user; Code::invalid a job
// name in use; Code::aborted.
Result<std::unique_ptr<transport::Exchange>> meet_on_host(const Config& config, uint32_t epoch,
                                                          const transport::Bounds& bounds);

}  // namespace plait::runtime
