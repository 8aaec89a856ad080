#!/usr/bin/env bash
# Four ranks over links that are cut in the middle of their allreduce, in the virtual machine: with two rails they go on,
# every element is right, and the log names the rail; with one the error names it.
#
# Usage: rails.sh PLAIT_RUN PLAIT_PERF
set -euo pipefail

run=$(readlink -f "$1")
perf=$(readlink -f "$2")
here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
[[ -e /sys/class/net/v3 ]] || bash "$here/roce.sh" 2
export EVEN ODD PLAIT_IFACE=lo

fail() {
  echo "FAILED: $1" >&2
  cat sums log >&2
  exit 1
}

# mega: megabytes that left the interfaces of the first rank and of the second.
mega() { echo $((($(cat /sys/class/net/v[1-4]/statistics/tx_bytes | paste -sd+)) >> 20)); }

# sum CALLS INTERFACE...: 256 KiB so often, each call checked. In the middle the interfaces lose all of RoCE that arrives.
sum() {
  local calls=$1 before status=0
  shift
  before=$(mega)
  # shellcheck disable=SC2016  # each rank's shell expands it
  local alone='export PLAIT_HOST_ID=host$RANK PLAIT_NETWORK=$EVEN; ((RANK % 2 == 0)) || PLAIT_NETWORK=$ODD; exec "$@"'
  "$run" -n 4 --timeout 100 bash -c "$alone" rank "$perf" allreduce -b 256K -e 256K -n 1 -w 0 -c "$calls" >sums 2>log &
  local job=$!
  while kill -0 "$job" 2>/dev/null && (($(mega) < before + 8)); do sleep 0.05; done
  kill -0 "$job" 2>/dev/null || fail "it was over before a link was cut"
  for interface in "$@"; do iptables -w -A INPUT -i "$interface" -p udp --dport 4791 -j DROP; done
  wait "$job" || status=$?
  iptables -w -F INPUT
  return "$status"
}

EVEN=verbs:rxe1,verbs:rxe3 ODD=verbs:rxe2,verbs:rxe4
sum "${CALLS:-40}" v3 v4 || fail "two rails did not survive that one was cut"
grep -q "Out of bounds values : 0 OK" sums || fail "wrong values"
for rail in verbs:rxe3 verbs:rxe4; do
  grep -qE "rail 1 \($rail\) to .* is out, the others go on" log || fail "the log does not name $rail"
done
grep -F "is out" log | sort | uniq -c

EVEN=verbs:rxe1 ODD=verbs:rxe2
! sum 1000000 v1 v2 || fail "one rail survived that it was cut"
grep -F "did not answer" log | sort | uniq -c | head -4
grep -qE "verbs:rxe[12].*did not answer" log || fail "nothing names the rail"
echo "good: rails are cut"
