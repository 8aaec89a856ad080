#!/usr/bin/env bash
# Which network bytes take, on hosts that have four: eth0, eth1, wrong0 (leads nowhere), and docker0, whose address is the
# same on each host.
#
# Usage: iface.sh FAMILY
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lab.sh"
. "$lab_sources/perf.sh"

family=$1
some=(-b 8 -e 1M -f 8 -n 5)
lab_begin
add_hosts 2
add_network eth1
# Wide and all-embracing, as Docker makes them; listed before the others by name.
add_dead_end docker0 172.17.0.1/16
add_dead_end wrong0 10.99.0.1/24

# Little may cross what was not chosen: neighbours look for each other there, nothing more.
expect_quiet() {
  local network before=$1
  shift
  for network in "$@"; do
    (($(received a "$network") + $(received b "$network") - before < 100000)) || fail "bytes crossed $network"
  done
}

works_on() {
  local quiet before
  root_network=$1
  quiet=$([[ $1 == eth0 ]] && echo eth1 || echo eth0)
  before=$(received_by_all "$quiet")
  perf_checked "2 2" allreduce "${some[@]}"
  expect_quiet "$before" "$quiet"
  expect_quiet 0 docker0 wrong0
}

# refuses IFACES REGEX [REGEX]: each rank says why, before the deadline of the bootstrap is far past; those on the host of
# rank 0, which need not dial, by the second.
refuses() {
  local r begin near=${3:-$2}
  begin=$(now_us)
  root_network=eth0
  rank_env=(PLAIT_IFACE="$1" PLAIT_BOOTSTRAP_TIMEOUT=5)
  start_ranks "2 2" "$PLAIT_PERF" allreduce "${some[@]}"
  wait_ranks 60
  for r in 0 1; do expect_error "$r" "$near"; done
  for r in 2 3; do expect_error "$r" "$2"; done
  expect_soon "$begin" 30 "${!rank_host[@]}"
  printf 'good: PLAIT_IFACE=%s is refused: %s\n' "$1" "$(head -n 1 "$lab_folder/err.0")"
}

works_on eth0 # nothing said: the interface that reaches the others
works_on eth1
rank_env=(PLAIT_IFACE=eth0) && works_on eth0
rank_env=(PLAIT_IFACE=eth1) && works_on eth1
rank_env=("PLAIT_IFACE=nosuch0,eth1") && works_on eth1 # the first that exists
refuses nosuch0 nosuch0
refuses wrong0 wrong0 '2, 3 did not come|wrong0'
refuses docker0 docker0 '2, 3 did not come|docker0'
