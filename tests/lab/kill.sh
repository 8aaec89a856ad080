#!/usr/bin/env bash
# A rank is killed in the middle of an allreduce: all others say which one, long before any deadline, and end.
#
# Usage: kill.sh LAYOUT
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lab.sh"
. "$lab_sources/failing.sh"

layout=$1
lab_begin
lay_out "$layout"
rank_env=(PLAIT_TIMEOUT=60)

kill_one() {
  local victim=$1 begin rest
  read -ra rest <<<"$(others "$victim")"
  begin=$(now_us)
  signal_rank "$victim" KILL
  wait_ranks 50
  expect_named "$victim" "${rest[@]}"
  # 2 s is what plait promises, of a machine that has nothing else to do; what it must not be is PLAIT_TIMEOUT.
  expect_soon "$begin" 20 "${rest[@]}"
  printf 'good: rank %s of "%s" killed; all others named it\n' "$victim" "$layout"
}

start_endless "$layout"
kill_one "$((world - 1))"
start_endless "$layout"
kill_one 0
