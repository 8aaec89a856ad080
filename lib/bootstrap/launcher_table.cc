// The launchers that plait knows. docs/bootstrap.md shows this table; tests hold what real ones set.
#include <array>

#include "bootstrap/launcher.h"

namespace plait::bootstrap {
namespace {

constexpr std::array kLaunchers = {
    // GROUP_RANK tells them from a WORLD_SIZE that somebody exported. A run id may be "none": then host and
    // port of torch's store tell jobs apart, and the count of restarts one life of a job from the next.
    Launcher{.name = "torchrun or plait-run",
             .marker = "TORCHELASTIC_RUN_ID|GROUP_RANK",
             .rank = "RANK",
             .size = "WORLD_SIZE",
             .local_rank = "LOCAL_RANK",
             .local_size = "LOCAL_WORLD_SIZE",
             .nodes = "GROUP_WORLD_SIZE",
             .job = "TORCHELASTIC_RUN_ID+MASTER_ADDR+MASTER_PORT+TORCHELASTIC_RESTART_COUNT"},
    Launcher{.name = "Open MPI's mpirun",
             .rank = "OMPI_COMM_WORLD_RANK",
             .size = "OMPI_COMM_WORLD_SIZE",
             .local_rank = "OMPI_COMM_WORLD_LOCAL_RANK",
             .local_size = "OMPI_COMM_WORLD_LOCAL_SIZE",
             .job = "PMIX_NAMESPACE|OMPI_MCA_ess_base_jobid"},
    // srun --mpi=pmi2 sets PMI_RANK, too, but not how many ranks are local: it is Slurm's row then.
    Launcher{.name = "Hydra (mpirun of MPICH or Intel MPI)",
             .marker = "MPI_LOCALNRANKS",
             .rank = "PMI_RANK",
             .size = "PMI_SIZE",
             .local_rank = "MPI_LOCALRANKID",
             .local_size = "MPI_LOCALNRANKS"},
    Launcher{.name = "RANK and WORLD_SIZE",
             .rank = "RANK",
             .size = "WORLD_SIZE",
             .local_rank = "LOCAL_RANK",
             .local_size = "LOCAL_WORLD_SIZE"},
    // Without a step it is the batch script itself that runs, which is no rank.
    Launcher{.name = "Slurm's srun",
             .marker = "SLURM_STEP_ID|SLURM_STEPID",
             .rank = "SLURM_PROCID",
             .size = "SLURM_STEP_NUM_TASKS|SLURM_NTASKS|SLURM_NPROCS",
             .local_rank = "SLURM_LOCALID",
             .nodes = "SLURM_STEP_NUM_NODES|SLURM_NNODES|SLURM_JOB_NUM_NODES",
             .node_list = "SLURM_STEP_NODELIST|SLURM_JOB_NODELIST|SLURM_NODELIST",
             .job = "SLURM_JOB_ID|SLURM_JOBID+SLURM_STEP_ID|SLURM_STEPID"},
    Launcher{.name = "Kubernetes indexed job",
             .rank = "JOB_COMPLETION_INDEX",
             .size = "WORLD_SIZE",
             .job = "MASTER_ADDR",
             .own_hosts = true},
};

}  // namespace

std::span<const Launcher> launchers() noexcept { return kLaunchers; }

}  // namespace plait::bootstrap
