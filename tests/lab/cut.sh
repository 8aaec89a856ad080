#!/usr/bin/env bash
# A host's link breaks in the middle of an allreduce: no rank hangs, each names one on the other side. Twice: the interface
# goes down, which the host notices; and the line swallows everything, which nobody notices.
#
# Usage: cut.sh FAMILY
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lab.sh"
. "$lab_sources/failing.sh"

family=$1
lab_begin
add_hosts 2
rank_env=(PLAIT_TIMEOUT=10)

swallow() { for host in a b; do lose_packets "$host" 1000; done; }

for breaking in "cut_link b" swallow; do
  start_endless "2 2"
  begin=$(now_us)
  $breaking
  wait_ranks 90
  expect_named "[23]" 0 1
  expect_named "[01]" 2 3
  expect_soon "$begin" 60 0 1 2 3
  printf 'good: %s, IPv%s: all ranks named the other side\n' "$breaking" "$family"
  mend_link b
done
