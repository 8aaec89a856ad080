// Which launcher started this process, and what it says of the job: read off the environment by a table.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "base/status.h"

namespace plait::bootstrap {

// Of a job: who says more is mistaken.
constexpr int32_t kMostRanks = 1 << 20;

// getenv, or a test's. Empty values are as good as none.
using Lookup = std::function<const char*(const char*)>;

// One launcher: the names of its variables, nullptr where it has none; "A|B": the first that is set. The
// table in launcher_table.cc is ordered by precedence: the innermost launcher first, as it is the one that
// started this very process (torchrun inside srun, mpirun inside an sbatch job).
struct Launcher {
  const char* name;
  const char* marker = nullptr;  // must be set, too, for the row to count; nullptr: rank and size alone do
  const char* rank;
  const char* size;
  const char* local_rank = nullptr;  // among the ranks of this host
  const char* local_size = nullptr;
  const char* nodes = nullptr;            // how many hosts
  const char* root_host = "MASTER_ADDR";  // a host where rank 0 is, as a name or address
  const char* node_list = nullptr;        // a Slurm host list; rank 0 is on the first
  const char* job = nullptr;              // pieces of the job's name, "A+B": joined by /
  // Each rank is on a host of its own, as pods are; else all are on one unless it says otherwise.
  bool own_hosts = false;
};
std::span<const Launcher> launchers() noexcept;

struct Launch {
  std::string source = "none";  // the row's name; "none": one rank
  int32_t rank = 0, size = 1;
  int32_t local_rank = -1, local_size = -1;  // -1: not told
  // PLAIT_JOB, else the launcher's, else PLAIT_ROOT. Empty where nothing names the job and all ranks are on
  // this host (Hydra): then parent_job() does.
  std::string job;
  // "HOST:PORT,..." to meet rank 0; empty when all ranks are on this host. PLAIT_ROOT, else the launcher's
  // host and root_port(job): never MASTER_PORT, which is torch's own store's.
  std::string root;
  std::string root_source;  // the variable that it came from; empty: none
};

// A pure function of the variables. Code::invalid names variables that contradict each other or make no
// sense, and PLAIT_ROOT where ranks are on several hosts and no address is known.
Result<Launch> detect(const Lookup& lookup);

// The port that rank 0 of a job is met at unless PLAIT_ROOT says so: 20000 + FNV-1a-64(job) mod 10000.
uint16_t root_port(std::string_view job) noexcept;

// A name for a job whose ranks all were started by one process on this host.
std::string parent_job();

}  // namespace plait::bootstrap
