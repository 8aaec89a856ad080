#!/usr/bin/env bash
# Collectives level by level over hosts whose links are slow, every element checked: shared memory inside, TCP between.
# What crosses between the hosts is less than what a ring of all ranks sends there.
#
# Usage: levels.sh LAYOUT     "3 2 1": three hosts with so many ranks
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lab.sh"
. "$lab_sources/perf.sh"

layout=$1
lab_begin
read -ra counts <<<"$layout"
add_hosts "${#counts[@]}"
for host in "${hosts[@]}"; do slow_link "$host" 1gbit; done
rank_env=(PLAIT_LINK_MBPS=1000)

some=(-b 1000 -e 4000000 -f 63 -n 2 -w 1 -c 1)
for names in ring/ring direct/direct direct/rabenseifner star/recursive_doubling; do
  perf_checked "$layout" allreduce "${some[@]}" -A "$names"
done
perf_checked "$layout" reduce_scatter "${some[@]}" -A direct/ring
perf_checked "$layout" allgather "${some[@]}" -A ring/direct
perf_checked "$layout" broadcast "${some[@]}" -A star/pipeline -r "$((world - 1))"
perf_checked "$layout" broadcast "${some[@]}" -A direct/ring
perf_checked "$layout" reduce "${some[@]}" -A direct/binomial
perf_checked "$layout" reduce "${some[@]}" -A star/star -r "$((world - 1))"
perf_checked "$layout" barrier -n 20 -A star/dissemination
# And what plait takes for such a link by itself.
for collective in allreduce reduce_scatter allgather broadcast reduce; do
  perf_checked "$layout" "$collective" "${some[@]}"
done

# crossing ALGORITHM: bytes between the hosts of one and the same work.
crossing() {
  local before
  before=$(received_by_all "$root_network")
  start_ranks "$layout" "$PLAIT_PERF" allreduce -b 4M -e 4M -n 5 -w 1 -c 1 -A "$1"
  wait_ranks 120
  expect_good
  crossed=$(($(received_by_all "$root_network") - before))
}
crossing ring
flat=$crossed
crossing ring/ring
printf 'allreduce of 4 MiB over %s: %d bytes crossed by ring, %d by ring/ring\n' "$layout" "$flat" "$crossed"
((crossed < flat)) || fail "ring/ring sent more between the hosts than a ring of all ranks"
