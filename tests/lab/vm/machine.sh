#!/usr/bin/env bash
# The virtual machine itself: what tests in it rely on is so.
set -euo pipefail
run=$(dirname "${BASH_SOURCE[0]}")/run

# Status and output are the command's; arguments arrive as they are; what is written does not reach this machine.
folder=$(mktemp -d "${TMPDIR:-/tmp}/plait-machine.XXXXXX")
trap 'rm -rf "$folder"' EXIT
status=0
# shellcheck disable=SC2016  # the shell in the machine expands it
said=$("$run" --limit 120 bash -c '
  set -e
  echo "<$1>"
  touch "$2/mark"
  [[ $(rdma link | grep -c "state ACTIVE") == 2 ]]
  # The link between the devices can be delayed, slowed and cut.
  tc qdisc add dev v1 root netem delay 5ms
  tc qdisc replace dev v1 root tbf rate 10mbit burst 10kb latency 1s
  tc qdisc delete dev v1 root
  iptables -A OUTPUT -s 10.77.0.2 -p udp --dport 4791 -j DROP
  exit 7' name 'a  b' "$folder") || status=$?
if ((status == 77)); then
  printf '%s\n' "$said"
  exit 77
fi
[[ $status == 7 && $said == '<a  b>' ]] || {
  printf 'FAILED: status %s, output "%s"\n' "$status" "$said" >&2
  exit 1
}
[[ ! -e $folder/mark ]] || {
  echo "FAILED: the machine wrote to this one" >&2
  exit 1
}
echo good
