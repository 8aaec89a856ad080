#!/usr/bin/env bash
# plait against Open MPI on the same inputs: see main.cc.
#
# Usage: differential.sh [--ranks N] [options of the program: --hosts one|each, --cases K, --full, --seed S]
#   PLAIT_DIFFERENTIAL   the program (default: build-test/tests/differential/differential)
#
# Example: tests/differential/differential.sh --ranks 5 --hosts each --full --seed 17
set -euo pipefail

ranks=3
[[ ${1:-} == --ranks ]] && {
  ranks=$2
  shift 2
}
program=${PLAIT_DIFFERENTIAL:-build-test/tests/differential/differential}
command -v mpirun.openmpi >/dev/null || {
  echo "skipped: mpirun.openmpi is not installed (Debian package openmpi-bin)"
  exit 77
}
# Open MPI's vectorised operators saturate sums of 8-bit integers (4.1.4), where the plain ones wrap. Ranks outnumber
# cores: it is to yield. Its messages go through shared memory, whatever else the machine has.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_mpi_yield_when_idle=1 \
  OMPI_MCA_op=^avx OMPI_MCA_btl=self,vader OMPI_MCA_pml=ob1 OMPI_MCA_btl_vader_single_copy_mechanism=none
exec timeout --kill-after=5 "${DIFFERENTIAL_SECONDS:-500}" \
  mpirun.openmpi --oversubscribe --bind-to none -np "$ranks" "$program" "$@"
