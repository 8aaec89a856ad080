#!/usr/bin/env bash
# NCCL's network over soft-RoCE, in the virtual machine: every point of the plugin's contract, random scripts, the traffic
# class in the packets, and PCI paths where devices have one.
#
# Usage: nccl.sh NCCL_NET_DRIVE PLUGIN TEST_NCCL SCRIPTS
#   SCRIPTS   so many
set -euo pipefail

drive=$(readlink -f "$1")
plugin=$(readlink -f "$2")
tests=$(readlink -f "$3")
scripts=$4
export PLAIT_IFACE=lo PLAIT_NETWORK=verbs

fail() {
  echo "FAILED: $1" >&2
  exit 1
}

# Every check passes, but for what needs memory of a device.
status=0
"$drive" "$plugin" --timeout 20 >said || status=$?
cat said
((status == 0)) || fail "the contract over verbs"
! grep 'not exercised  ' said | grep -v 'ptrSupport has no' || fail "something was not exercised"
"$drive" "$plugin" --script 1 --count "$scripts" --timeout 30

# class NETWORK CLASS: messages with NCCL's traffic class 104 between two devices; RoCE's packets have CLASS.
class() {
  local count
  iptables -w -I OUTPUT -p udp --dport 4791 -m tos --tos "$2/0xfc"
  PLAIT_TEST_NETWORK=$1 "$tests" --gtest_filter='TrafficClass.*' >said || {
    cat said
    fail "messages over $1"
  }
  ! grep SKIPPED said || fail "there are no two devices"
  count=$(iptables -w -L OUTPUT 1 -nvx | awk '{ print $1 }')
  iptables -w -F OUTPUT
  echo "traffic class $2 over $1: $count packets"
  ((count > 20)) || fail "packets do not have traffic class $2"
}
class verbs:rxe1,verbs:rxe2 0x68
class 'verbs:rxe1?traffic_class=32,verbs:rxe2?traffic_class=32' 0x20
# pci NETWORK PATH: of the first device, the path is that.
pci() {
  PLAIT_TEST_NETWORK=$1 PLAIT_TEST_PCI=$2 "$tests" --gtest_filter=Tables.PciPathIsThatOfTheDevice >said || {
    cat said
    fail "the PCI path of $1"
  }
  echo "PCI path of $1: $2"
}
pci verbs:rxe1 none # soft-RoCE is no device of PCI
modprobe virtio_net
ip address add 10.78.0.1/24 dev eth0
ip link set eth0 up
for ((i = 0; i < 100; ++i)); do # until the kernel calls it up, too
  [[ $(</sys/class/net/eth0/operstate) == down ]] || break
  sleep 0.1
done
nic=$(dirname "$(readlink -f /sys/class/net/eth0/device)") # virtio's is beneath it
[[ $(readlink -f "$nic/subsystem") == /sys/bus/pci ]] || fail "eth0 lies on no device of PCI: $nic"
pci tcp:eth0 "$nic"
echo "good: NCCL's network over verbs"
