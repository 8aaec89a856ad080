#!/usr/bin/env bash
# plait under Slurm's srun, on a cluster of this machine alone that the test starts; see launch.sh.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/launch.sh"
. "$sources/slurm_cluster.sh"

launcher=slurm
rank_variable=SLURM_PROCID
variables='^(SLURM_(PROCID|LOCALID|NODEID|NTASKS|NPROCS|NNODES|GTIDS|TASKS_PER_NODE|NODELIST|JOB_ID|JOB_NODELIST|JOB_NUM_NODES|STEP_.*|STEPID|LAUNCH_NODE_IPADDR|SRUN_COMM_HOST|MPI_TYPE)|SLURMD_NODENAME|PMI)='
((EUID == 0)) || skip "slurmd needs root"
need slurmctld slurm-wlm
need munged munge
version() { srun --version | sed 's/^slurm-wlm/srun of Slurm/'; }

# Variables are passed on unless --export says otherwise.
launch() {
  local n=$1
  shift
  limited srun --quiet --ntasks="$n" --overcommit "$@"
}

stop() { stop_slurm; }
begin
start_slurm
check "$@"
