// Any domain with a token bucket on it: what this rank sends over a rail, to all peers together, keeps to a
// rate, with a burst after a pause. So several jobs on one link do not drown each other in its queue.
#pragma once

#include <memory>

#include "transport/transport.h"

namespace plait::transport::paced {

// Transfers of at most so many bytes are counted, and always pass: signals and credit do not wait behind
// bytes.
constexpr size_t kShortBytes = 1024;

struct Options {
  uint64_t rate_Bps = 0;  // bytes a second; not 0
  uint64_t burst_bytes = uint64_t(256) << 10;
};

// Takes `inner` over, whose regions stay as they are. For what there are no tokens, post() has no room; what
// is larger than the burst passes, and those behind it wait for longer. Gets count like puts, where they are
// posted. Stores to mapped memory pass by post(), so they are not paced. The capabilities tell of the rate as
// bandwidth, where the inner domain has more. Code::invalid: no rate; Code::system: no descriptor to sleep
// on.
Result<std::unique_ptr<Domain>> make_domain(std::unique_ptr<Domain> inner, const Options& options);

}  // namespace plait::transport::paced
