#!/usr/bin/env bash
# A rank never comes: the others say which one when the bootstrap's deadline passes. Also when it is rank 0, whom all meet.
#
# Usage: never.sh LAYOUT
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lab.sh"
. "$lab_sources/failing.sh"

lab_begin
lay_out "$1"
rank_env=(PLAIT_BOOTSTRAP_TIMEOUT=5)

without() {
  local layout=$1 begin rest
  absent=("$2")
  begin=$(now_us)
  start_ranks "$layout" "$PLAIT_PERF" allreduce -e 8
  read -ra rest <<<"$(others "$2")"
  wait_ranks 60
  expect_named "$2" "${rest[@]}"
  expect_soon "$begin" 30 "${rest[@]}"
  printf 'good: rank %s of "%s" never came; all others named it\n' "$2" "$layout"
}

without "$1" 1
without "$1" "$((world - 1))"
without "$1" 0
