#!/usr/bin/env bash
# Ranks that share no memory sum over a network, in the virtual machine: every element is checked.
#
# Usage: collectives.sh PLAIT_RUN PLAIT_PERF BYTES NETWORK [NETWORK_OF_ODD_RANKS]
#   BYTES   the longest, as in plait-perf
set -euo pipefail

run=$(readlink -f "$1")
perf=$(readlink -f "$2")
bytes=$3
export EVEN=$4 ODD=${5:-$4} PLAIT_IFACE=lo

# Each rank is a host of its own.
# shellcheck disable=SC2016  # each rank's shell expands it
alone='export PLAIT_HOST_ID=host$RANK PLAIT_NETWORK=$EVEN; ((RANK % 2 == 0)) || PLAIT_NETWORK=$ODD; exec "$@"'
for collective in allreduce alltoall; do
  "$run" -n 4 bash -c "$alone" rank "$perf" "$collective" -b 8 -e "$bytes" -f 32 -n 1 -w 0 -c 1 | tee sums
  if ! grep -q "Out of bounds values : 0 OK" sums || ! grep "rank  3 " sums | grep -qF "$EVEN"; then
    echo "FAILED: $collective over $EVEN" >&2
    exit 1
  fi
done
echo "good: 4 ranks over $EVEN"
