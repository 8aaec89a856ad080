#!/usr/bin/env bash
# A rank has no descriptors left: it says that, with the limit that it ran into, and the others say that it failed.
#
# Usage: nofile.sh LAYOUT
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lab.sh"
. "$lab_sources/failing.sh"

lab_begin
lay_out "$1"
rank_env=(PLAIT_BOOTSTRAP_TIMEOUT=5 PLAIT_TIMEOUT=5)

# Standard input, output, error and a few more: enough to start, whatever the machine, not to meet the others.
# shellcheck disable=SC2016  # the rank's shell expands it
limited='if ((RANK == WORLD_SIZE - 1)); then ulimit -n "$1"; fi; shift; exec "$@"'

for limit in 4 6 8; do
  begin=$(now_us)
  start_ranks "$1" bash -c "$limited" rank "$limit" "$PLAIT_PERF" allreduce -b 8 -e 1M -f 8 -n 5
  victim=$((world - 1))
  read -ra rest <<<"$(others "$victim")"
  wait_ranks 60
  expect_error "$victim" "[Tt]oo many open files|descriptors|ulimit"
  expect_named "$victim" "${rest[@]}"
  expect_soon "$begin" 40 "${!rank_host[@]}"
  printf 'good: %s descriptors for rank %s of "%s": all ranks said so\n' "$limit" "$victim" "$1"
done
