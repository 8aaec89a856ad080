#!/usr/bin/env bash
# One pod of emulated chips, a torus or mesh, a rank a chip: along rings and trees of links that the map of the pod gives, and
# dimension by dimension, every element checked.
#
# Usage: torus.sh SHAPE RANKS ALGORITHM...     "torus 3x3" 9 chip_rings ring/ring: allreduces
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lab.sh"
. "$lab_sources/perf.sh"
: "${PLAIT_ICL_POD:?set by meson: path of icl-pod}"

shape=$1
layout=$2
shift 2
lab_begin
add_hosts 1
pod=/dev/shm/plait-lab-$$-pod
remove_pod() {
  local status=$?
  rm -f "$pod"
  (exit $status)
  lab_end
}
trap remove_pod EXIT
"$PLAIT_ICL_POD" create "$pod" "$shape; mbps=1000 latency=1us silent=60s" >/dev/null || skip "no pod of emulated chips here"

# Rank r has chip 5r + 1: neighbours have no neighbouring numbers.
rank=$lab_folder/rank.sh
cat >"$rank" <<EOF
#!/bin/bash
export PLAIT_NETWORK="icl:emu:$pod#\$(((5 * RANK + 1) % $layout))"
exec "$PLAIT_PERF" "\$@"
EOF
chmod +x "$rank"
PLAIT_PERF=$rank

some=(-b 8 -e 400000 -f 37 -n 1 -w 1 -c 1)
for name in "$@"; do
  perf_checked "$layout" allreduce "${some[@]}" -A "$name"
done
for collective in reduce_scatter allgather; do
  perf_checked "$layout" "$collective" "${some[@]}" -A chip_ring
  perf_checked "$layout" "$collective" "${some[@]}" -A ring/ring
  perf_checked "$layout" "$collective" "${some[@]}" -A direct/direct
done
perf_checked "$layout" broadcast "${some[@]}" -A chip_pipeline -r 1
perf_checked "$layout" reduce "${some[@]}" -A chip_pipeline -r 1
for collective in allreduce reduce_scatter allgather broadcast; do
  perf_checked "$layout" "$collective" "${some[@]}"
done
