#!/usr/bin/env bash
# plait under Open MPI's mpirun; see launch.sh.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/launch.sh"

launcher=openmpi
rank_variable=OMPI_COMM_WORLD_RANK
variables='^(OMPI_COMM_WORLD_|OMPI_UNIVERSE_SIZE|OMPI_MCA_orte_(hnp_uri|num_nodes)|PMIX_(RANK|NAMESPACE|HOSTNAME))'
need mpirun.openmpi openmpi-bin
version() { mpirun.openmpi --version | sed 's/^mpirun.openmpi (\(.*\)) /mpirun of Open MPI (\1) /'; }

# -x: ranks of other hosts get no variable that is not named.
launch() {
  local n=$1
  shift
  OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 limited \
    mpirun.openmpi --oversubscribe -np "$n" -x PLAIT_SECRET_FILE "$@"
}

begin
check "$@"
