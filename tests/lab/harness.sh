#!/usr/bin/env bash
# The lab itself, with nothing of plait: what the other tests rely on is so, and nothing is left behind.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lab.sh"

# A lab that was killed, so that nobody cleaned up. Its host must be gone once the next lab begins.
{ bash -c '. "$1"; lab_begin; add_hosts 1; kill -KILL $$' lab "$lab_sources/lab.sh" >/dev/null || true; } 2>/dev/null
# One that is told to end, while a rank of it runs.
bash -c '. "$1"; lab_begin; add_hosts 2; start_ranks "1 1" sleep 300; sleep 1; kill -TERM $$; sleep 300' \
  lab "$lab_sources/lab.sh" >/dev/null || true

lab_begin
# Other labs run beside this one: a shell that ended just now has taken its hosts along.
left=$(ip netns list | awk '$1 ~ /^plait-[0-9]+-/ { print $1 }' |
  while read -r name; do
    kill -0 "$(cut -d- -f2 <<<"$name")" 2>/dev/null || [[ ! -e /run/netns/$name ]] || echo "$name"
  done)
[[ -z $left ]] || fail "left behind by labs that ended: $left"

add_hosts 3
add_network eth1
add_dead_end docker0 172.17.0.1/16

# meet FAMILY [NETWORK]: sends a MiB from b to a.
meet() {
  local address
  address=$(address_of a "$1" "${2:-eth0}")
  on a timeout "$patience" python3 "$lab_sources/stand_in.py" receive "$address" &
  on b timeout "$patience" python3 "$lab_sources/stand_in.py" send "$address"
  wait $!
}
patience=30

before=$(received a)
meet 4
meet 6
(($(received a) - before > 2 << 20)) || fail "two MiB reached a, the counter says $(($(received a) - before)) bytes"
meet 4 eth1
[[ $(on a cat /sys/class/net/docker0/operstate) == up ]] || fail "docker0 is not up"
! on b timeout 5 python3 "$lab_sources/stand_in.py" send 172.17.0.1 2>/dev/null || fail "docker0 leads somewhere"

slow_link b 40mbit
begin=$(now_us)
meet 4
(($(now_us) - begin > 100000)) || fail "a MiB passed a link of 40 Mbit/s in $((($(now_us) - begin) / 1000)) ms"
on b tc qdisc del dev eth0 root

lose_packets a 1000
! patience=3 meet 6 || fail "all packets are lost, yet a MiB passed"
lose_packets a 0
cut_link b
! patience=3 meet 4 || fail "the link is cut, yet a MiB passed"
mend_link b
meet 4
meet 6

# Ranks: their variables, their places, one that is absent, one that a signal ends, one that hangs.
family=6 absent=(5) rank_env=(EXTRA=yes)
# shellcheck disable=SC2016  # the rank's shell expands it
start_ranks "3 2 1" sh -c 'echo "$RANK/$WORLD_SIZE $LOCAL_RANK/$LOCAL_WORLD_SIZE $PLAIT_ROOT $EXTRA"
  stat -c %a "$PLAIT_SECRET_FILE"; ip netns identify $$; hostname
  case $RANK in 1) exit 3 ;; 2) exec sleep 300 ;; 3) kill -KILL $$ ;; esac'
wait_ranks 3
[[ ${rank_status[*]} == "0 3 hung 137 0" ]] || fail "statuses are ${rank_status[*]}"
[[ $(tr '\n' ' ' <"$lab_folder/out.4") == "4/6 1/2 [fd66::1]:29533 yes 600 plait-$$-b host-b " ]] || fail "rank 4 is another"
[[ ! -e $lab_folder/out.5 ]] || fail "rank 5 was to be absent"
[[ "$(others 2 5)" == "0 1 3 4 " ]] || fail "others are $(others 2 5)"
echo "good"
