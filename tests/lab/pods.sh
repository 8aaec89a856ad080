#!/usr/bin/env bash
# A hierarchy of three: links of chips in pods, shared memory between pods of a host, TCP between hosts, in one program.
# Two hosts, two pods of emulated chips on each, a ring of links in each pod; every collective level by level and as plait
# chooses, every element checked. Counters of the links, what ranks log of their ways and bytes between the hosts prove that
# all three were used.
#
# Usage: pods.sh CHIPS     chips of a pod, 2 to 4
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lab.sh"
. "$lab_sources/perf.sh"
: "${PLAIT_ICL_POD:?set by meson: path of icl-pod}" "${PLAIT_ICL_INFO:?set by meson: path of icl-info}"

chips=$1
pods=4
layout="$((2 * chips)) $((2 * chips))"
lab_begin
add_hosts 2

# The lab's own folder may be on a disk: pods are memory.
pod() { printf '/dev/shm/plait-lab-%d-pod%d' $$ "$1"; }
remove_pods() {
  local status=$? p
  for ((p = 0; p < pods; p++)); do rm -f "$(pod $p)"; done
  (exit $status)
  lab_end
}
trap remove_pods EXIT
for ((p = 0; p < pods; p++)); do
  "$PLAIT_ICL_POD" create "$(pod $p)" "ring $chips; mbps=2000 latency=1us silent=60s" >/dev/null || skip "no pod of emulated chips here"
done

# Each rank runs a chip of its pod; chips in the pod are not in the order of ranks.
rank=$lab_folder/rank.sh
cat >"$rank" <<EOF
#!/bin/bash
pod=\$((RANK / $chips)) chip=\$(((RANK % $chips) * 3 % $chips))
(($chips % 3)) || chip=\$((($chips - 1) - RANK % $chips))
export PLAIT_NETWORK="icl:emu:/dev/shm/plait-lab-$$-pod\$pod#\$chip|tcp"
exec "$PLAIT_PERF" "\$@"
EOF
chmod +x "$rank"
PLAIT_PERF=$rank

# carried POD: bytes that its links carried so far, all ports together.
carried() { "$PLAIT_ICL_INFO" "emu:$(pod "$1")" --json | python3 "$lab_sources/count_links.py"; }
carried_by_all() {
  local p
  for ((p = 0; p < pods; p++)); do carried "$p"; done
}

some=(-b 8 -e 400000 -f 37 -n 1 -w 1 -c 1)
for names in ring/direct/ring direct/ring/direct ring/ring/rabenseifner star/star/recursive_doubling; do
  perf_checked "$layout" allreduce "${some[@]}" -A "$names"
done
perf_checked "$layout" allgather "${some[@]}" -A ring/direct/ring
perf_checked "$layout" broadcast "${some[@]}" -A star/star/pipeline -r "$((world - 1))"
perf_checked "$layout" broadcast "${some[@]}" -A direct/direct/ring
perf_checked "$layout" reduce "${some[@]}" -A direct/direct/binomial
perf_checked "$layout" reduce_scatter "${some[@]}" -A direct/ring
perf_checked "$layout" barrier -n 5 -A star/star/dissemination
# And what plait takes by itself.
for collective in allreduce reduce_scatter allgather broadcast reduce gather scatter alltoall; do
  perf_checked "$layout" "$collective" "${some[@]}"
done

# One allreduce over all three.
mapfile -t before < <(carried_by_all)
rank_env=(PLAIT_LOG=debug)
perf_checked "$layout" allreduce -b 256K -e 256K -n 4 -w 0 -c 2 -A ring/direct/ring
mapfile -t after < <(carried_by_all)
for ((p = 0; p < pods; p++)); do
  ((after[p] > before[p])) || fail "the links of pod $p carried nothing: ${before[p]} and ${after[p]}"
  printf 'good: links of pod %d: %d, %d before\n' "$p" "${after[p]}" "${before[p]}"
done
for ((r = 0; r < world; r++)); do
  for way in icl:emu shm tcp:; do
    grep -q "is connected to .* over $way" "$lab_folder/err.$r" || fail "rank $r uses no $way in ring/direct/ring"
  done
done
printf 'good: each of %d ranks is joined with others over icl, shm and tcp\n' "$world"
rank_env=()

# What explain says of it: three levels among the candidates, and the pods.
start_ranks "$layout" "$PLAIT_PERF" allreduce -b 64K -e 64K -n 1 -w 0 --explain
wait_ranks 300
expect_good
grep -Eq '[a-z_]+/[a-z_]+/[a-z_]+ ' "$lab_folder/out.0" || fail "no composition of three levels is explained"
grep -q "^# *2 hosts of $((2 * chips)) ranks, 4 pods of $chips ranks" "$lab_folder/out.0" || fail "explain names no pods"
((chips < 3)) || grep -q '^# *pod of ranks .*: a ring of links' "$lab_folder/out.0" || fail "explain names no ring of links"
grep -E '^# (2 hosts|pod of)' "$lab_folder/out.0"
