// The tables that NCCL finds by their names.
#include "abi.h"
#include "calls.h"

namespace plait::nccl::tuner {
namespace {

NcclResult init_v4(size_t ranks, size_t nodes, Logger logger, void** context) {
  return calls::init(context, ranks, nodes, logger, nullptr, nullptr);
}
// What it could change of the constants stays NCCL's: the plugin only reads them.
NcclResult init_v5(void** context, uint64_t /*comm_id*/, size_t ranks, size_t nodes, Logger logger,
                   NvlDomainsV5* domains, TunerConstantsV5* constants) {
  return calls::init(context, ranks, nodes, logger, domains, constants);
}
NcclResult get_coll_info(void* context, int32_t function, size_t bytes, int operations, float** table,
                         int algorithms, int protocols, int registered, int* channels) {
  return calls::get_coll_info(context, function, bytes, operations, table, algorithms, protocols, registered,
                              channels);
}
NcclResult finalize(void* context) { return calls::finalize(context); }

}  // namespace
}  // namespace plait::nccl::tuner

#define PLAIT_EXPORT extern "C" __attribute__((visibility("default"))) const

using namespace plait::nccl;

PLAIT_EXPORT TunerV4 ncclTunerPlugin_v4 = {"plait", tuner::init_v4, tuner::get_coll_info, tuner::finalize};
PLAIT_EXPORT TunerV5 ncclTunerPlugin_v5 = {"plait", tuner::init_v5, tuner::get_coll_info, tuner::finalize};
