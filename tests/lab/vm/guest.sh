#!/usr/bin/env bash
# Runs in the virtual machine, as the first thing that is not init: prepares it, runs the command, leaves its status.
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root TERM=dumb LC_ALL=C TMPDIR=/tmp
control=/mnt/control
{ read -r folder && read -r network && read -r kernel_folder; } <"$control/settings"
touch "$control/up"

stty -F /dev/ttyS1 raw -echo
mkdir -p /lib/modules
mount --bind "$kernel_folder/lib/modules" /lib/modules # so that modules load when they are used
ulimit -l unlimited
ip link set lo up

{
  status=125
  if [[ $network == no ]] || bash "$control/roce.sh"; then
    cd "$folder" && bash "$control/command"
    status=$?
  fi
} >/dev/ttyS1 2>&1 </dev/null
echo "guest: the command ended with $status, $(cut -d' ' -f1 /proc/uptime) s after boot" >/dev/kmsg
printf '%s\n' "$status" >"$control/status"
sync
printf x | dd of=/dev/port bs=1 seek=$((0xf4)) conv=notrunc 2>/dev/null # qemu ends
echo o >/proc/sysrq-trigger
sleep 5
