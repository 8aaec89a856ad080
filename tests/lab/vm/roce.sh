#!/usr/bin/env bash
# Two soft-RoCE devices on a veth pair, in the virtual machine: rxe1 on v1 (10.77.0.1), rxe2 on v2 (10.77.0.2). Packets
# between them go through the pair, though both ends are in one network namespace.
#
# Usage: roce.sh [PAIR]
#   PAIR   makes another one: 2 is rxe3 on v3 (10.77.1.1) and rxe4 on v4 (10.77.1.2), and so on (default 1)
set -euo pipefail

pair=${1:-1}
modprobe -a veth crc32_generic rdma_ucm ib_umad rdma_rxe
first=$((2 * pair - 1))
ip link add "v$first" address "02:00:00:00:00:0$first" mtu 4200 type veth peer name "v$((first + 1))" \
  address "02:00:00:00:00:0$((first + 1))"
echo 0 >/proc/sys/net/ipv4/conf/all/rp_filter
for i in 1 2; do
  device=$((first + i - 1))
  ip address add "10.77.$((pair - 1)).$i/24" dev "v$device"
  ip link set "v$device" mtu 4200 up
  for setting in accept_local=1 rp_filter=0 arp_ignore=1 arp_announce=2; do
    echo "${setting#*=}" >"/proc/sys/net/ipv4/conf/v$device/${setting%=*}"
  done
  rdma link add "rxe$device" type rxe netdev "v$device"
done
