#!/usr/bin/env bash
# One machine of pciwin.sh: chip N and rank N are its own.
#
# Usage: pciwin_machine.sh N MACHINES ICL_TOOLS PLAIT_PERF SECRET_FILE
set -euo pipefail

me=$1 all=$2 tools=$3 perf=$4
address() { echo "10.77.9.$(($1 + 1))"; }
fail() {
  echo "FAILED: $1 ($(cut -d' ' -f1 /proc/uptime) s after boot)" >&2
  exit 1
}
# within SECONDS COMMAND...: until the command succeeds.
within() {
  local end=$((SECONDS + $1))
  shift
  until "$@" >/dev/null 2>&1; do
    ((SECONDS < end)) || fail "in vain: $*"
    sleep 0.2
  done
}

# packets: how many left the ports of chip $me.
packets() {
  "$tools/icl-info" pciwin --counters >info
  awk -v chip="$me" '
    $1 == "chip" { mine = $2 == chip }
    mine { for (i = 1; i < NF; i++) if ($i == "tx_packets") sum += $(i + 1) }
    END { print sum + 0 }' info
}
more_packets() { (($(packets) >= $1)); }

cd /run
modprobe virtio_net
ip address add "$(address "$me")/24" dev eth0
ip link set eth0 up
# The kernel takes a second to say so, and ranks use no interface that it does not call up.
goes() { [[ $(</sys/class/net/eth0/operstate) != down ]]; }
within 60 goes

# The first lays the pod into the window. A chip is dead after 100 looks without a beat: long, since machines are slow where they
# are emulated, and before endpoints give up by themselves (10 s).
if ((me == 0)); then
  "$tools/icl-pod" create pciwin "ring $all; silent=5s"
else
  within 60 "$tools/icl-info" pciwin
fi

# Chips 0 and 1 alone.
if ((me == 0)); then
  "$tools/icl-ping" pciwin 0 1 --join "$(address 1):7000" --count 50 --size 65536
  "$tools/icl-info" pciwin --counters
elif ((me == 1)); then
  "$tools/icl-ping" pciwin 1 0 --listen 7000
fi

cp "$5" /run/secret && chmod 600 /run/secret
export RANK=$me WORLD_SIZE=$all LOCAL_RANK=0 LOCAL_WORLD_SIZE=1 PLAIT_NETWORK=icl:pciwin PLAIT_IFACE=eth0
export PLAIT_SECRET_FILE=/run/secret PLAIT_JOB=pciwin PLAIT_BOOTSTRAP_TIMEOUT=120 PLAIT_TIMEOUT=60
root_port=7100
# run_perf ARGUMENT...: another port for each job, so that no rank meets the job before.
run_perf() {
  root_port=$((root_port + 1))
  PLAIT_ROOT=$(address 0):$root_port "$perf" "$@"
}

wrong=0
for collective in allreduce reduce reduce_scatter allgather broadcast gather scatter alltoall barrier \
  reduce_scatterv allgatherv gatherv scatterv alltoallv; do
  size=(-b 16 -e "${BYTES:-1M}" -f 256)
  [[ $collective != barrier ]] || size=()
  run_perf "$collective" "${size[@]}" -n 1 -w 0 -c 1 >sums 2>log || { cat sums log && fail "$collective"; }
  ((me == 0)) || continue
  grep -q "Out of bounds values : 0 OK" sums || wrong=1
  if [[ $collective == allreduce || $wrong == 1 ]]; then cat sums; fi
  grep -qF "icl:pciwin" sums || { cat sums && fail "$collective did not run over icl:pciwin"; }
  ((wrong == 0)) || fail "$collective: wrong values"
  echo "good: $collective, $all machines, 0 wrong, $(cut -d' ' -f1 /proc/uptime) s after boot"
done

# The last machine dies within a sum, as if its power was cut: the others name its chip.
if ((me == all - 1)); then
  before=$(packets)
  run_perf allreduce -b 4K -e 4K -n 1000000 -w 0 -c 0 >/dev/null 2>&1 &
  within 60 more_packets $((before + 500)) # it runs
  printf '0\n' >/mnt/control/status
  sync
  echo "machine $me dies"
  printf x | dd of=/dev/port bs=1 seek=$((0xf4)) conv=notrunc 2>/dev/null
fi
status=0
run_perf allreduce -b 4K -e 4K -n 1000000 -w 0 -c 0 >sums 2>log || status=$?
((status != 0)) || fail "the sum survived the death of a machine"
cat log
# Of more than two, who hears of it from another names a rank, and a chip behind the dead one may be named first.
grep -qE "chip $((all - 1)) (is dead|has been silent)" log || { ((all > 2)) && grep -q "died or left" log; } ||
  fail "nothing names chip $((all - 1))"
echo "good: the death of machine $((all - 1)) is named"
