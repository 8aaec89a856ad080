#!/usr/bin/env bash
# A rank is stopped by SIGSTOP in the middle of an allreduce. It is alive, so nobody can know: the deadline speaks, and
# names it. When it goes on, it finds the others gone, and says so.
#
# Usage: stop.sh LAYOUT
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lab.sh"
. "$lab_sources/failing.sh"

lab_begin
lay_out "$1"
rank_env=(PLAIT_TIMEOUT=10)

start_endless "$1"
victim=$((world - 1))
read -ra rest <<<"$(others "$victim")"
begin=$(now_us)
signal_rank "$victim" STOP
await_ranks 60 "${rest[@]}"
expect_named "$victim" "${rest[@]}"
expect_soon "$begin" 30 "${rest[@]}"
signal_rank "$victim" CONT
await_ranks 60 "$victim"
expect_error "$victim" "rank [0-9]+"
printf 'good: rank %s of "%s" stopped; the deadline of all others named it\n' "$victim" "$1"
