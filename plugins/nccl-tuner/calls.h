// The calls of both versions, as one. No exception leaves them.
#pragma once

#include "nccl-tuner/abi.h"

namespace plait::nccl::tuner::calls {

// `domains` and `constants` may be null. Where no network joins the ranks the context leaves every table as
// it is.
NcclResult init(void** context, size_t ranks, size_t nodes, Logger logger, const NvlDomainsV5* domains,
                const TunerConstantsV5* constants) noexcept;

// A failure is the communicator's: a rank that went on by NCCL's numbers could choose otherwise than its
// peers.
NcclResult get_coll_info(void* context, int32_t function, size_t bytes, int operations, float** table,
                         int algorithms, int protocols, int registered, int* channels) noexcept;

// Null is none.
NcclResult finalize(void* context) noexcept;

}  // namespace plait::nccl::tuner::calls
