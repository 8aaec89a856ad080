#!/usr/bin/env bash
# A network that is slow and loses packets makes things late, not wrong.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lab.sh"
. "$lab_sources/perf.sh"

lab_begin
add_hosts 2
for host in a b; do
  slow_link "$host" 200mbit
  lose_packets "$host" 10 # of a thousand
done
for collective in allreduce reduce_scatter allgather broadcast; do
  perf_checked "2 2" "$collective" -b 8 -e 1M -f 64 -n 3 -w 1 -c 2
done
