# shellcheck shell=bash disable=SC2154,SC2034 # variables come from, and go to, what sources it
# Hosts of the lab, the networks between them, and what goes wrong there. Sourced by lab.sh.

hosts=()    # their names: a, b, ...
networks=() # names of the interfaces that each host has, one for each network
switch=plait-$$-switch

name_of() { printf 'plait-%d-%s' $$ "$1"; }

# on HOST COMMAND...: runs it there.
on() {
  local host=$1
  shift
  ip netns exec "$(name_of "$host")" "$@"
}

# address_of HOST [4|6] [NETWORK]
address_of() {
  local host=$1 family=${2:-4} network=${3:-eth0} h n
  for h in "${!hosts[@]}"; do [[ ${hosts[h]} != "$host" ]] || break; done
  for n in "${!networks[@]}"; do [[ ${networks[n]} != "$network" ]] || break; done
  if ((family == 4)); then printf '10.%d.0.%d' $((66 + n)) $((h + 1)); else printf 'fd%d::%d' $((66 + n)) $((h + 1)); fi
}

# What containers may refuse is tried, not guessed.
try_hosts() {
  local why probe
  probe=$(name_of probe)
  if ! why=$({ ip netns add "$probe" && ip netns exec "$probe" true &&
    ip -n "$probe" link add one type bridge && ip -n "$probe" link add two type veth peer name three &&
    ip -n "$probe" address add fd66::1/64 dev two nodad; } 2>&1); then
    remove_host "$probe"
    skip "no network namespaces with bridges, veth pairs and IPv6 can be made here: ${why##*$'\n'}"
  fi
  remove_host "$probe"
}

# Only what a lab made whose shell is gone.
remove_stale() {
  local name pid
  for name in "${TMPDIR:-/tmp}"/plait-lab.*; do
    pid=${name##*/plait-lab.}
    kill -0 "${pid%.*}" 2>/dev/null || rm -rf "$name"
  done
  for name in $(ip netns list 2>/dev/null | awk '$1 ~ /^plait-[0-9]+-[a-z]+$/ { print $1 }'); do
    pid=${name#plait-}
    pid=${pid%-*}
    kill -0 "$pid" 2>/dev/null || remove_host "$name"
  done
}

# A namespace lives on while a process is in it: those go first, also stopped ones.
remove_host() {
  local pid
  for pid in $(ip netns pids "$1" 2>/dev/null); do kill -KILL "$pid" 2>/dev/null || true; done
  ip netns del "$1" 2>/dev/null || true
}

new_namespace() {
  ip netns add "$1"
  ip -n "$1" link set lo up
}

# add_hosts N: hosts a, b, ... on one network, eth0: 10.66.0.1, 10.66.0.2, ... and fd66::1, fd66::2, ...
add_hosts() {
  local i host names=abcdefghijklmnopqrstuvwxyz
  new_namespace "$switch"
  for ((i = 0; i < $1; i++)); do
    host=${names:i:1}
    new_namespace "$(name_of "$host")"
    hosts+=("$host")
  done
  add_network eth0
}

# add_pair [NAME...]: hosts a and b, joined by one veth pair, or by as many as are named, and no switch, which costs a
# message a tenth of its time.
add_pair() {
  local end link
  for end in a b; do new_namespace "$(name_of "$end")"; done
  hosts=(a b) networks=("${@:-eth0}")
  for link in "${networks[@]}"; do
    ip -n "$(name_of a)" link add "$link" type veth peer name "$link" netns "$(name_of b)"
    for end in a b; do set_addresses "$end" "$link"; done
  done
}

# add_network NAME: joins all hosts by one more network; NAME is their interface to it.
add_network() {
  local network=$1 host
  networks+=("$network")
  ip -n "$switch" link add "$network" type bridge
  ip -n "$switch" link set "$network" up
  for host in "${hosts[@]}"; do
    add_port "$host" "$network"
    ip -n "$switch" link set "$network-$host" master "$network"
    set_addresses "$host" "$network"
  done
}

# The interface of a host, its other end a port of the switch's namespace.
add_port() {
  ip -n "$switch" link add "$2-$1" type veth peer name "$2" netns "$(name_of "$1")"
  ip -n "$switch" link set "$2-$1" up
}

set_addresses() {
  ip -n "$(name_of "$1")" link set "$2" up
  ip -n "$(name_of "$1")" address replace "$(address_of "$1" 4 "$2")/24" dev "$2"
  ip -n "$(name_of "$1")" address replace "$(address_of "$1" 6 "$2")/64" dev "$2" nodad
}

# add_dead_end NAME IPV4/LENGTH: on each host an interface that is up, has a carrier and an address, the same on all of
# them, and leads nowhere: docker0 is like that.
add_dead_end() {
  local host
  for host in "${hosts[@]}"; do
    add_port "$host" "$1"
    ip -n "$(name_of "$host")" address add "$2" dev "$1"
    ip -n "$(name_of "$host")" link set "$1" up
  done
}

# cut_link HOST [NETWORK]: the host's interface goes down, and loses its IPv6 address. mend_link brings both back.
cut_link() { ip -n "$(name_of "$1")" link set "${2:-eth0}" down; }
mend_link() { set_addresses "$1" "${2:-eth0}"; }

# slow_link HOST RATE [INTERFACE]: what the host sends leaves at RATE, as tc writes it: 100mbit.
slow_link() {
  on "$1" tc qdisc replace dev "${3:-eth0}" root tbf rate "$2" burst 256kb latency 50ms ||
    skip "no link can be slowed here: tc has no tbf"
}

# lose_packets HOST PER_MILLE [INTERFACE]: of what comes in, that much is lost. 1000: a line that swallows everything and
# tells nobody. 0: all is well again.
lose_packets() {
  local which="numgen random mod 1000 < $2" table="lab-${3:-eth0}"
  (($2 < 1000)) || which=
  on "$1" nft delete table inet "$table" 2>/dev/null || true
  (($2 > 0)) || return 0
  on "$1" nft -f - <<END || skip "no packets can be lost here: nft failed (Debian package nftables)"
table inet $table {
  chain incoming {
    type filter hook input priority 0
    iifname "${3:-eth0}" $which counter drop
  }
}
END
}

# received HOST [INTERFACE], sent HOST [INTERFACE]: bytes, since the host was made.
received() { on "$1" cat "/sys/class/net/${2:-eth0}/statistics/rx_bytes"; }
sent() { on "$1" cat "/sys/class/net/${2:-eth0}/statistics/tx_bytes"; }

# What all hosts together received. Bytes between ranks of one host are not in it.
received_by_all() {
  local host sum=0
  for host in "${hosts[@]}"; do sum=$((sum + $(received "$host" "${1:-eth0}"))); done
  printf '%d' "$sum"
}
