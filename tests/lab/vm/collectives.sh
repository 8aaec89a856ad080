#!/usr/bin/env bash
# Ranks that share no memory sum over a network, in the virtual machine: every element is checked.
#
# Usage: collectives.sh PLAIT_RUN PLAIT_PERF NETWORK
set -euo pipefail

run=$(readlink -f "$1")
perf=$(readlink -f "$2")
export PLAIT_NETWORK=$3 PLAIT_IFACE=lo

# Each rank is a host of its own.
# shellcheck disable=SC2016  # each rank's shell expands it
alone='PLAIT_HOST_ID=host$RANK exec "$@"'
for collective in allreduce alltoall; do
  "$run" -n 4 sh -c "$alone" rank "$perf" "$collective" -b 8 -e 8M -f 32 -n 2 -w 1 -c 1 | tee sums
  if ! grep -q "Out of bounds values : 0 OK" sums || ! grep -q "rank  3 .* $PLAIT_NETWORK" sums; then
    echo "FAILED: $collective over $PLAIT_NETWORK" >&2
    exit 1
  fi
done
echo "good: 4 ranks over $PLAIT_NETWORK"
