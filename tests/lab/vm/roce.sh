#!/usr/bin/env bash
# Two soft-RoCE devices on a veth pair, in the virtual machine: rxe1 on v1 (10.77.0.1), rxe2 on v2 (10.77.0.2). Packets
# between them go through the pair, though both ends are in one network namespace.
set -euo pipefail

modprobe -a veth crc32_generic rdma_ucm ib_umad rdma_rxe
ip link add v1 address 02:00:00:00:00:01 mtu 4200 type veth peer name v2 address 02:00:00:00:00:02
echo 0 >/proc/sys/net/ipv4/conf/all/rp_filter
for i in 1 2; do
  ip address add "10.77.0.$i/24" dev "v$i"
  ip link set "v$i" mtu 4200 up
  for setting in accept_local=1 rp_filter=0 arp_ignore=1 arp_announce=2; do
    echo "${setting#*=}" >"/proc/sys/net/ipv4/conf/v$i/${setting%=*}"
  done
  rdma link add "rxe$i" type rxe netdev "v$i"
done
