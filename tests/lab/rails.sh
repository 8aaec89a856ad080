#!/usr/bin/env bash
# Two hosts, two links of 1 Gbit/s between them, and two rails over these. Both carry; one that is cut, noticed or not, costs
# a moment and nothing else, log and flight recorder say so, and it is used again when it is there again; when both are
# cut each rank names the other, and what became of each rail. TURNS: how often one rail is measured beside two.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lab.sh"
: "${PLAIT_PERF:?set by meson: path of plait-perf}"
export PYTHONDONTWRITEBYTECODE=1

links=(eth0 eth1)
both=tcp:eth0,tcp:eth1
lab_begin
add_pair "${links[@]}"
for host in a b; do
  for link in "${links[@]}"; do slow_link "$host" 1gbit "$link"; done
done

# start_over NETWORK [OPTION...]: an allreduce of a rank on each host.
start_over() {
  local network=$1
  shift
  rows=$lab_folder/rows.json record=$lab_folder/record.$((jobs_started + 1))
  rm -f "$rows"
  rank_env=(PLAIT_LINK_MBPS=1000 PLAIT_LOG=info PLAIT_TIMEOUT=30 PLAIT_NETWORK="$network" PLAIT_DUMP="$record")
  start_ranks "1 1" "$PLAIT_PERF" allreduce "$@" --json "$rows"
}

expect_sums() {
  wait_ranks 300
  expect_good
  python3 "$lab_sources/check_rows.py" "$rows" allreduce 2 >/dev/null || fail "wrong, see above"
}

# most FIELD: of all rows.
most() { python3 -c 'import json, sys; print(max(row[sys.argv[2]] for row in json.load(open(sys.argv[1]))))' "$rows" "$1"; }
both_ways() { printf '%d' "$(($(received a "$1") + $(received b "$1")))"; }

# await_bytes LINK BYTES SECONDS: so many more have crossed it.
await_bytes() {
  local before limit=$((SECONDS + $3))
  before=$(both_ways "$1")
  until (($(both_ways "$1") - before > $2)); do
    kill -0 "${rank_pid[0]}" 2>/dev/null || fail "the job ended before $2 bytes crossed $1"
    ((SECONDS < limit)) || fail "$2 bytes did not cross $1 in $3 s"
    sleep 0.02
  done
}

# Every size, every operation checked; both links carry.
start_over "$both" -b 8 -e 16M -f 8 -n 2 -w 0 -c 2
expect_sums
for ((turn = 0; turn < ${TURNS:-1}; turn++)); do
  start_over tcp:eth0 -b 16M -e 16M -n 10 -w 1 -c 1
  expect_sums
  one=$(most algbw_GBps)
  before=("$(both_ways eth0)" "$(both_ways eth1)")
  start_over "$both" -b 16M -e 16M -n 10 -w 1 -c 1
  expect_sums
  two=$(most algbw_GBps)
  crossed=($(($(both_ways eth0) - before[0])) $(($(both_ways eth1) - before[1])))
  python3 -c 'import sys; a, b = map(float, sys.argv[1:])
print(f"allreduce of 16 MiB: {a * 1e3:.1f} MB/s over one rail, {b * 1e3:.1f} over two: {b / a:.2f} times")' "$one" "$two"
  for bytes in "${crossed[@]}"; do
    ((bytes * 3 >= crossed[0] + crossed[1])) || fail "of two rails one carries little: ${crossed[*]} bytes"
  done
done

goes_down() { cut_link b "$1"; }
comes_up() { for host in a b; do mend_link "$host" "$1"; done; }
swallows() { for host in a b; do lose_packets "$host" 1000 "$1"; done; }
is_well() { for host in a b; do lose_packets "$host" 0 "$1"; done; }

# cut_one HOW BACK LINK: in the midst of operations that are all checked; for so long that what waits shows.
cut_one() {
  local link=$3 r
  start_over "$both" -b 4M -e 4M -n 1 -w 0 -c 160
  await_bytes "$link" $((32 << 20)) 60
  $1 "$link"
  sleep 2
  $2 "$link"
  await_bytes "$link" $((16 << 20)) 60
  for r in 0 1; do signal_rank "$r" USR1; done
  expect_sums
  for r in 0 1; do
    grep -Eq "rail [01] \(tcp:$link\) to rank $((1 - r)) \(host-[ab], process [0-9]+\) is out, the others go on: " \
      "$lab_folder/err.$r" || fail "rank $r does not say that $link is out"
    grep -Eq "rail [01] \(tcp:$link\) to rank $((1 - r)) .* is used again" "$lab_folder/err.$r" ||
      fail "rank $r does not say that $link is used again"
  done
  python3 "$lab_sources/check_rails.py" "tcp:$link" "$record".[01].0.json || fail "what the records say of $link is wrong"
  printf 'good: %s %s, all sums right; the longest operation took %s us\n' "$1" "$link" "$(most checked_us_max)"
}
cut_one goes_down comes_up eth1
cut_one swallows is_well eth0

# cut_both HOW BACK: within the deadline each rank names the other, and what became of both rails.
cut_both() {
  local link r begin
  start_over "$both" -b 4M -e 4M -n 1 -w 0 -c 10000
  await_bytes eth1 $((32 << 20)) 60
  begin=$(now_us)
  for link in "${links[@]}"; do $1 "$link"; done
  wait_ranks 60
  for r in 0 1; do
    expect_error "$r" "rank $((1 - r)) \(host-[ab], process [0-9]+\).*all 2 rails to the peer are dead: rail 0 \(tcp:eth0\): .*; rail 1 \(tcp:eth1\): "
  done
  expect_soon "$begin" 30 0 1
  printf 'good: %s both: rank 0 after %d ms: %s\n' "$1" "$(((rank_end[0] - begin) / 1000))" \
    "$(grep -o 'rank 1 .*all 2 rails.*' "$lab_folder/err.0" | tail -1)"
  for link in "${links[@]}"; do $2 "$link"; done
}
cut_both goes_down comes_up
cut_both swallows is_well
