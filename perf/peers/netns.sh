# shellcheck shell=bash disable=SC2154,SC2034,SC2086 # variables come from run, and go to the lab; commands are words
# Peers between two hosts, which are network namespaces joined by one veth pair. Sourced by run.
#
# The hosts and the ranks on them are those of tests/lab; launchers enter a namespace where they would log in to a host.

# peers_across RANKS_PER_HOST: one line per variant of what is built: name|environment|command
peers_across() {
  local each=$1 n=$((2 * $1)) where yield="" o m w=$B/wheels
  where=$(address_of a):$each,$(address_of b):$each
  [ "$n" -le "$(nproc)" ] || yield="--mca mpi_yield_when_idle 1"
  o="-np $n -H $where --bind-to none $yield --mca pml ob1 --mca btl_tcp_if_include eth0 $(exported)"
  m="-np $n -hosts $where -bind-to none -launcher rsh -launcher-exec $lab_folder/agent -iface eth0"
  [ "$each" -gt 1 ] || echo "limit-tcp|TCP_ROOT=$(address_of a)|ranks $B/limits/tcp"
  cat <<END
plait||ranks $B/bench_plait
plait-plain|BENCH_OWN_MEMORY=0|ranks $B/bench_plait
END
  [ ! -x "$B/bench_ompi" ] ||
    openmpi_across ompi "mpirun.openmpi $o --mca plm rsh --mca plm_rsh_agent $lab_folder/agent --mca oob_tcp_if_include eth0
      --mca btl self,vader,tcp --mca btl_base_warn_component_unused 0"
  [ ! -x "$B/bench_ompi5" ] ||
    openmpi_across ompi5 "$w/ompi5/bin/mpirun $o --prtemca plm ssh --prtemca plm_ssh_agent $lab_folder/agent
      --prtemca prte_if_include eth0 --mca btl self,sm,tcp"
  [ ! -x "$B/bench_mpich" ] || echo "mpich-def|UCX_TLS=self,tcp UCX_NET_DEVICES=eth0|mpirun.mpich $m $B/bench_mpich"
  [ ! -x "$B/bench_mpich5" ] ||
    echo "mpich5-def|UCX_TLS=self,tcp UCX_NET_DEVICES=eth0|$w/mpich5/bin/mpirun $m $B/bench_mpich5"
  [ ! -x "$B/bench_impi" ] || intel_across "$n"
  [ ! -x "$B/bench_gloo" ] || cat <<END
gloo-def|BENCH_PIN=0|gloo_across
gloo-pin|BENCH_PIN=1|gloo_across
END
}

openmpi_across() {  # NAME LAUNCHER
  local o
  o=$(xargs <<<"$2")
  cat <<END
$1-def||$o $B/bench_$1
$1-ring||$o --mca coll_tuned_use_dynamic_rules 1 --mca coll_tuned_allreduce_algorithm 4 $B/bench_$1
$1-links2||$o --mca btl_tcp_links 2 $B/bench_$1
END
}

intel_across() {  # RANKS
  local at=$B/wheels/impi m
  m="-np $1 -ppn $(($1 / 2)) -hosts $(address_of a),$(address_of b) -bootstrap rsh -bootstrap-exec $lab_folder/agent -iface eth0"
  echo "impi-def|$(intel "$at") FI_PROVIDER=tcp FI_TCP_IFACE=eth0 I_MPI_PIN=0|$at/bin/mpiexec.hydra $m $B/bench_impi"
}

# Open MPI hands only named variables to other hosts.
exported() {
  local v
  for v in BENCH_IMPL BENCH_SYNC $(compgen -e BENCH_); do printf -- '-x %s ' "$v"; done | xargs -n 2 | sort -u | xargs
}

# The agent of both launchers: [options] host command..., as they would call rsh. Namespaces share /dev/shm, where Open
# MPI's files of two hosts with one name would be the same.
write_agent() {
  cat >"$lab_folder/agent" <<END
#!/bin/bash
while [[ \$1 == -* ]]; do shift; done
case \$1 in $(address_of a)) host=$(name_of a) ;; *) host=$(name_of b) ;; esac
shift
exec ip netns exec "\$host" unshare --uts bash -c "hostname \$host; \$*"
END
  chmod +x "$lab_folder/agent"
}

# ranks COMMAND...: a process for each, as somebody would start them by hand; prints what rank 0 printed.
ranks() {
  start_ranks "$layout" $prio "$@"
  wait_ranks "$limit"
  cat "$lab_folder/out.0"
  cat "$lab_folder"/err.* >&2
}

gloo_across() {
  local store
  store=$(mktemp -d -p "$lab_folder")
  # shellcheck disable=SC2016 # the rank's shell expands it
  GLOO_STORE=$store ranks bash -c 'GLOO_HOST=$LAB_ADDRESS exec "$0"' "$B/bench_gloo"
}

# The line itself, both directions at once: GB/s each.
iperf() {
  local first=$prio
  [ "$BENCH_RT" = 0 ] || first="chrt -f 1"
  on a $first iperf3 --server --one-off --bind "$(address_of a)" >/dev/null &
  sleep 0.5
  on b $first iperf3 --client "$(address_of a)" --bidir --time 3 --json | python3 -c '
import json, sys
end = json.load(sys.stdin)["end"]
for way in ("sum_received", "sum_received_bidir_reverse"):
    print("iperf3 --bidir,%.3f,GB/s" % (end[way]["bits_per_second"] / 8e9))'
  wait $!
}

# one_across NAME ENVIRONMENT COMMAND
one_across() {
  local v
  quiet
  BENCH_SYNC=$(mktemp -p /dev/shm peers.XXXXXX)
  (
    export BENCH_IMPL=$1 BENCH_SYNC
    for v in $2; do export "${v?}"; done
    case $3 in
      ranks* | gloo*) $3 ;;
      *) on a $prio timeout -k 2 "$limit" $3 ;;
    esac
  ) 2>>"$OUT/errors.log" </dev/null | grep "^$1," || {
    echo "# $1: no result, see $OUT/errors.log"
    echo "$1" >>"$OUT/failed.log"
  }
  rm -f "$BENCH_SYNC"
}

# netns RANKS_PER_HOST ROUNDS [peer regex] [VAR=value...]
netns() {
  local each=$1 rounds=${2:-3} re=${3:-.} v r name envs cmd file
  export BENCH_COLLS=${BENCH_COLLS:-allreduce,allreduce_inplace,barrier,pingpong} BENCH_MIN=${BENCH_MIN:-8} \
    BENCH_MAX=${BENCH_MAX:-67108864} BENCH_SIZES=${BENCH_SIZES:-} BENCH_BUDGET=${BENCH_BUDGET:-0.12} \
    BENCH_PIN=${BENCH_PIN:-1} BENCH_RT=${BENCH_RT:-0} BENCH_TOUCH=${BENCH_TOUCH:-0}
  for v in "${@:4}"; do export "${v?}"; done
  lab_begin
  add_pair
  for v in a b; do [ -z "${NETNS_RATE:-}" ] || slow_link "$v" "$NETNS_RATE"; done
  write_agent
  layout="$each $each"
  file=$OUT/netns$((2 * each))-$(date +%H%M%S).csv
  for ((r = 0; r < rounds; r++)); do
    iperf
    peers_across "$each" | grep -E "^($re)[^|]*\|" | while IFS='|' read -r name envs cmd; do
      one_across "$name" "$envs" "$cmd"
    done
  done | tee -a "$file"
  echo "# in $file"
}
