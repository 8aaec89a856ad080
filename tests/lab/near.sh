#!/usr/bin/env bash
# Two hosts with two networks each, and ranks that ask for the nearest NICs. Veths have no place in the machine, so all
# ranks are equally near to both: ranks of a host share them out, and each carries what it is given. Where only one of
# the networks leads to the other host, all ranks use that one.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lab.sh"
: "${PLAIT_PERF:?set by meson: path of plait-perf}"

lab_begin
add_pair eth0 eth1
both_ways() { printf '%d' "$(($(received a "$1") + $(received b "$1")))"; }

# run NETWORK: messages between the ranks of two hosts; what crossed each link is in `crossed`.
run() {
  local rows=$lab_folder/rows.json before link
  rm -f "$rows"
  before=("$(both_ways eth0)" "$(both_ways eth1)")
  rank_env=(PLAIT_NETWORK="$1" PLAIT_LOG=info PLAIT_IFACE="eth0,eth1" PLAIT_TIMEOUT=30)
  start_ranks "2 2" "$PLAIT_PERF" allreduce -b 4M -e 4M -n 5 -w 0 -c 1 -A ring --json "$rows"
  wait_ranks 120
  expect_good
  python3 "$lab_sources/check_rows.py" "$rows" allreduce 4 >/dev/null || fail "wrong, see above"
  crossed=($(($(both_ways eth0) - before[0])) $(($(both_ways eth1) - before[1])))
}

# says RANK takes|leaves LINK
says() { grep -q "rank $1 $2 tcp:$3: " "$lab_folder/err.$1" || fail "rank $1 does not say that it $2 $3"; }

run tcp:near
for r in 0 2; do says "$r" takes eth0 && says "$r" leaves eth1; done
for r in 1 3; do says "$r" takes eth1 && says "$r" leaves eth0; done
((crossed[1] > 1000000)) || fail "of two links eth1 carries little: ${crossed[*]} bytes"
printf 'good: tcp:near, ranks share two links: %s bytes crossed them\n' "${crossed[*]}"

run tcp:near,tcp:near
for r in 0 1 2 3; do says "$r" takes eth0 && says "$r" takes eth1; done
for bytes in "${crossed[@]}"; do
  ((bytes * 4 >= crossed[0] + crossed[1])) || fail "of two rails one carries little: ${crossed[*]} bytes"
done
printf 'good: tcp:near,tcp:near, each rank has both: %s bytes crossed them\n' "${crossed[*]}"

run tcp:eth0
((crossed[1] < 100000)) || fail "bytes crossed eth1, which nobody named"
! grep -q 'takes tcp:' "$lab_folder/err.0" || fail "the nearest are looked for where one is named"
printf 'good: tcp:eth0 stays what it is\n'

on a env LOCAL_RANK=1 RANK=1 WORLD_SIZE=4 LOCAL_WORLD_SIZE=2 PLAIT_JOB=j PLAIT_ROOT=a:22317 PLAIT_NETWORK=tcp:near PLAIT_IFACE=eth0,eth1 \
  "$PLAIT_PERF" --show-config >"$lab_folder/config"
for line in 'tcp:eth0 +no +near leaves it: .*as near as eth1, and left to other ranks' \
  'tcp:eth1 +yes .*; near: no device, so no distance'; do
  grep -Eq "^$line" "$lab_folder/config" ||
    fail "--show-config does not say what local rank 1 takes: $(cat "$lab_folder/config")"
done
printf 'good: --show-config says what is taken, and why\n'
