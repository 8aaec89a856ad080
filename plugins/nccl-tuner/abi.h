// What NCCL and a tuner plugin have in common: the layout of the tables a plugin exports, versions 4 and 5.
// The names are plait's; order, types and values are the ABI, and are never changed.
//
// NCCL looks for the data symbols ncclTunerPlugin_v6, _v5 and so on, newest first, in the library that
// NCCL_TUNER_PLUGIN names (docs/nccl.md), and takes the first that it knows.
//
//   version  NCCL     brought
//   4        2.24.3   registered buffers (3: 2.22.3, a table of costs in place of one answer)
//   5        2.28.3   the communicator's number, domains of NVLink, the constants of NCCL's own model
//   6        2.30.3   sizes of chunks; NCCL takes 5 as well
#pragma once

#include <cstddef>
#include <cstdint>

#include "nccl-net/abi.h"

namespace plait::nccl {

inline constexpr unsigned long log_tuning = 0x40;

// ncclFunc_t: only the first five have a choice.
enum class Function : int32_t { broadcast = 0, reduce = 1, allgather = 2, reduce_scatter = 3, allreduce = 4 };

// Rows of the table of costs ...
enum class TunerAlgorithm : int32_t {
  tree = 0,
  ring = 1,
  collnet_direct = 2,
  collnet_chain = 3,
  nvls = 4,
  nvls_tree = 5,
  pat = 6,
};
inline constexpr int tuner_algorithms = 7;
// ... and columns.
enum class Protocol : int32_t { ll = 0, ll128 = 1, simple = 2 };
inline constexpr int tuner_protocols = 3;

// In the table: NCCL does not take this one, whatever it costs.
inline constexpr float not_offered = -1.0F;

struct NvlDomainsV5 {
  int domains;
  int least_ranks;  // of a domain
  int most_ranks;
};

// Of NCCL's own model: microseconds, and GB/s. Links: NVLink, PCI, network.
inline constexpr int tuner_links = 3;
inline constexpr int link_nvlink = 0, link_network = 2;
inline constexpr int tuner_generations = 4;  // of GPUs
inline constexpr int tuner_scales = 3;       // 1, 2, 4 nodes
struct TunerConstantsV5 {
  double base_latency[tuner_algorithms][tuner_protocols];               // of a call
  double link_latency[tuner_links][tuner_algorithms][tuner_protocols];  // of a step
  double most_ll[tuner_generations][tuner_scales];
  double most_ring_ll128[tuner_generations][tuner_scales];
  double most_tree_ll128[tuner_generations][tuner_scales];
  double most_tree[tuner_generations][tuner_scales];
  double most_nvls_tree[tuner_generations][tuner_scales];
};

// `table` is float[algorithms][protocols], one row after the other, whatever its type says: predicted
// microseconds, or not_offered. NCCL takes the least. `channels` that stay 0 are NCCL's choice.
using CollInfo = NcclResult (*)(void* context, int32_t function, size_t bytes, int operations, float** table,
                                int algorithms, int protocols, int registered, int* channels);

struct TunerV4 {
  const char* name;
  NcclResult (*init)(size_t ranks, size_t nodes, Logger logger, void** context);
  CollInfo get_coll_info;
  NcclResult (*destroy)(void* context);
};

struct TunerV5 {
  const char* name;
  NcclResult (*init)(void** context, uint64_t comm_id, size_t ranks, size_t nodes, Logger logger,
                     NvlDomainsV5* domains, TunerConstantsV5* constants);
  CollInfo get_coll_info;
  NcclResult (*finalize)(void* context);
};

static_assert(sizeof(NvlDomainsV5) == 12);
static_assert(offsetof(TunerConstantsV5, link_latency) == 21 * 8 &&
              offsetof(TunerConstantsV5, most_ll) == 84 * 8);
static_assert(sizeof(TunerConstantsV5) == (84 + 5 * 12) * 8);
static_assert(sizeof(TunerV4) == 4 * 8 && sizeof(TunerV5) == 4 * 8);

}  // namespace plait::nccl

extern "C" {
extern const plait::nccl::TunerV4 ncclTunerPlugin_v4;
extern const plait::nccl::TunerV5 ncclTunerPlugin_v5;
}
