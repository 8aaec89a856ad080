#!/usr/bin/env bash
# Who listens on the network, and says again what was said. Everything that two hosts send is captured while a job
# bootstraps and sums: no part of the secret is in it, and a third host that replays it is refused, by a new job with the
# same name and the same secret. Then that host keeps the door busy with 1,000 connections.
#
# Usage: capture.sh
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lab.sh"
: "${PLAIT_PERF:?set by meson: path of plait-perf}"
. "$lab_sources/tcpdump.sh"
export PYTHONDONTWRITEBYTECODE=1

stranger() { on c python3 "$lab_sources/stranger.py" "$@"; }

# start_job [OPTION...]: all jobs have one name and one secret.
start_job() {
  jobs_started=0
  rows=$lab_folder/rows.json
  rm -f "$rows"
  command=("$PLAIT_PERF" allreduce "$@" --json "$rows")
  start_ranks "2 2" "${command[@]}"
}

expect_sums() {
  wait_ranks 300
  expect_good
  python3 "$lab_sources/check_rows.py" "$rows" allreduce 4 >/dev/null || fail "wrong, see above"
}

# expect_warning RANK TEXT: it wrote one line with the stranger's address, and that says so.
expect_warning() {
  local lines
  lines=$(grep -F "$(address_of c)" "$lab_folder/err.$1" || true)
  [[ $lines == *"$2"* && $(wc -l <<<"$lines") == 1 ]] || fail "rank $1 was to warn once of $(address_of c): '$lines'"
}

lab_begin
add_hosts 3
root=$(address_of a)
ports=(30000 30019)
rank_env=(PLAIT_PORTS="${ports[0]}-${ports[1]}" PLAIT_TIMEOUT=120)

capture a "$lab_folder/capture.a"
capture b "$lab_folder/capture.b"
start_job -b 8 -e 64K -f 8 -n 3
expect_sums
end_captures
python3 "$lab_sources/stranger.py" secret "$secret" "$lab_folder"/capture.{a,b} || fail "the secret is on the network"

new_secret() { :; } # from here on the old one is used again

# Rank 3 comes later: so long rank 0 listens where all meet.
absent=(3)
start_job -b 8 -e 64K -f 8 -n 3
stranger root "$lab_folder/capture.a" "$root" 29533 || fail "what was said to rank 0 can be said again"
start_rank 3 1 2 "${command[@]}"
expect_sums
expect_warning 0 "its proof is wrong"

# The data ports are open while the job runs. It waits for a rank that is stopped, so that it cannot end before.
absent=()
rank_env+=(PLAIT_LOG=info) # a hello for an endpoint that is not there may be a late peer's: no reason for a warning
before=$(received a)
start_job -b 64K -e 64K -n 10000
until (($(received a) - before > 1 << 20)); do
  kill -0 "${rank_pid[3]}" 2>/dev/null || fail "the job ended before anything was done to it"
  sleep 0.01
done
signal_rank 3 STOP
stranger data "$lab_folder/capture.a" "$root" "${ports[@]}" || fail "what was said on a data connection can be said again"
signal_rank 3 CONT
expect_sums
unset 'rank_env[-1]'
for r in 0 1; do
  grep -Eq "tcp.*$(address_of c).* asked for an endpoint" "$lab_folder/err.$r" || fail "rank $r did not tell of $(address_of c)"
done

absent=(3)
start_job -b 8 -e 64K -f 8 -n 3
stranger crowd "$root" 29533 >"$lab_folder/crowd" &
crowd=$!
until grep -q came "$lab_folder/crowd"; do
  kill -0 "$crowd" 2>/dev/null || fail "the crowd did not come"
  sleep 0.05
done
start_rank 3 1 2 "${command[@]}"
expect_sums
kill "$crowd"
expect_warning 0 "refused"
echo "good: a capture holds no secret, replays are refused, and a crowd at the door keeps nobody out"
