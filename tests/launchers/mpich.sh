#!/usr/bin/env bash
# plait under MPICH's mpirun, which is Hydra; see launch.sh.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/launch.sh"

launcher=mpich
rank_variable=PMI_RANK
variables='^(PMI_(RANK|SIZE)|MPI_LOCAL)'
need mpirun.mpich mpich
version() { mpirun.mpich --version | awk '/Version:/ { print "mpirun of MPICH (Hydra) " $2 }'; }

launch() {
  local n=$1
  shift
  limited mpirun.mpich -np "$n" -genv PLAIT_SECRET_FILE "$PLAIT_SECRET_FILE" "$@"
}

begin
check "$@"
