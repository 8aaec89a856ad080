#!/usr/bin/env bash
# Every collective over hosts, every element checked, and asserted that bytes crossed between the hosts.
#
# Usage: collectives.sh LAYOUT FAMILY     "2 2" 4: two hosts with two ranks each, rank 0 met by IPv4
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lab.sh"
. "$lab_sources/perf.sh"

layout=$1
family=$2
lab_begin
read -ra counts <<<"$layout"
add_hosts "${#counts[@]}"

# Sizes for each way of delivery; then lengths that nothing divides, other memory, types and roots. Few iterations: where
# other work has the cores a call takes milliseconds.
for collective in allreduce reduce_scatter allgather broadcast; do
  perf_checked "$layout" "$collective" -b 8 -e 4M -f 8 -n 3 -w 1 -c 2
done
perf_checked "$layout" barrier -n 20
perf_checked "$layout" allreduce -b 4000012 -e 4000012 -n 3 -c 5 --mixed-memory
perf_checked "$layout" allreduce -b 1000 -e 1000 -n 3 -d bfloat16,int8,float64 -o max,avg
perf_checked "$layout" broadcast -b 100003 -e 100003 -n 3 -d uint8 -r "$((world - 1))"
perf_checked "$layout" allgather -b 64K -e 64K -n 3 -R 0
