# shellcheck shell=bash disable=SC2154 # variables come from what sources it
# A Slurm cluster of this machine alone, in a folder of its own: munged, slurmctld and slurmd with ports, key and sockets
# that no other Slurm here uses. No systemd, no cgroups, no database, so a bare container will do. Sourced by slurm.sh.

slurm_daemons=()

free_ports() {
  python3 -c 'import socket
held = [socket.create_server(("", 0)) for _ in range(2)]
print(*(s.getsockname()[1] for s in held))'
}

# The name under which slurmctld and slurmd know this machine: that of the kernel, where it leads here. Slurm looks it
# up, and a container's may lead nowhere; NodeAddr and SlurmctldHost's address in brackets make that unnecessary.
write_slurm_conf() {
  local ports
  read -ra ports <<<"$(free_ports)"
  cat >"$folder/slurm.conf" <<END
ClusterName=plait
SlurmctldHost=$(hostname -s)(127.0.0.1)
SlurmctldPort=${ports[0]}
SlurmdPort=${ports[1]}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$folder/munge.socket
CredType=cred/munge
CryptoType=crypto/munge
StateSaveLocation=$folder/state
SlurmdSpoolDir=$folder/spool
SlurmctldPidFile=$folder/slurmctld.pid
SlurmdPidFile=$folder/slurmd.pid
SlurmctldLogFile=$folder/slurmctld.log
SlurmdLogFile=$folder/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
MpiDefault=none
ReturnToService=2
SlurmdParameters=config_overrides
NodeName=$(hostname -s) NodeAddr=127.0.0.1 CPUs=8 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
END
  # Nothing here uses cgroups, but slurmd does not start where it finds none, unless it is told which kind not to use.
  printf 'CgroupPlugin=cgroup/v1\n' >"$folder/cgroup.conf"
}

# start_daemon NAME COMMAND...: in the foreground of a process of ours, so that we know whom to end.
start_daemon() {
  local name=$1
  shift
  setpriv --pdeathsig KILL "$@" >"$folder/$name.out" 2>&1 </dev/null &
  slurm_daemons+=($!)
}

start_slurm() {
  mkdir "$folder/state" "$folder/spool"
  (umask 077 && head -c 128 /dev/urandom >"$folder/munge.key")
  export SLURM_CONF=$folder/slurm.conf
  write_slurm_conf
  # --force: its folder may be writable by others, as /tmp is.
  start_daemon munged munged --foreground --force --key-file="$folder/munge.key" --socket="$folder/munge.socket" \
    --pid-file="$folder/munged.pid" --log-file="$folder/munged.log" --seed-file="$folder/munged.seed" --num-threads=2
  await 20 "munged" test -S "$folder/munge.socket"
  start_daemon slurmctld slurmctld -D -i
  start_daemon slurmd slurmd -D -N "$(hostname -s)"
  await 60 "Slurm's node" node_is_idle
}

node_is_idle() { [[ $(sinfo --noheader --format=%T 2>/dev/null) == idle ]]; }

# await SECONDS WHAT COMMAND...: until the command succeeds. A daemon that ends meanwhile says that this machine, or
# container, is not for it.
await() {
  local limit=$((SECONDS + $1)) what=$2 daemon
  shift 2
  until "$@"; do
    for daemon in "${slurm_daemons[@]}"; do
      kill -0 "$daemon" 2>/dev/null || { show_logs; skip "$what does not start here: $(last_error)"; }
    done
    ((SECONDS < limit)) || { show_logs; fail "$what did not come up"; }
    sleep 0.1
  done
}

show_logs() { tail -n 5 "$folder"/*.out >&2; }
last_error() { grep -hE 'rror|fatal' "$folder"/*.out | tail -n 1; }

# Steps first, by their own protocol; then the daemons, the last started first.
stop_slurm() {
  local i t
  ((${#slurm_daemons[@]} < 2)) || timeout 10 scancel --user=root 2>/dev/null || true
  for ((i = ${#slurm_daemons[@]} - 1; i >= 0; i--)); do
    kill -TERM "${slurm_daemons[i]}" 2>/dev/null || true
  done
  for ((i = 0; i < ${#slurm_daemons[@]}; i++)); do
    for ((t = 0; t < 50; t++)); do
      kill -0 "${slurm_daemons[i]}" 2>/dev/null || break
      sleep 0.1
    done
    kill -KILL "${slurm_daemons[i]}" 2>/dev/null || true
  done
}
