#!/usr/bin/env bash
# Two jobs on one limited link: one sums large gradients by a queue, the other makes small calls. What pacing the first
# does to the times of the second, and costs itself (docs/queue.md). As root:
#
#   ninja -C build perf/bench_queue && BENCH_QUEUE=build/perf/bench_queue perf/pacing.sh [MBIT] [SECONDS]
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/../tests/lab/lab.sh"

mbit=${1:-200} seconds=${2:-10}
bench=$(realpath "${BENCH_QUEUE:?is the path of bench_queue}")

# start_job NAME PORT ARGUMENT...: a rank on each of the two hosts, over $network. Its output: $lab_folder/NAME.RANK
network=tcp
start_job() {
  local name=$1 port=$2 r
  shift 2
  for r in 0 1; do
    # shellcheck disable=SC2154  # lab.sh has the hosts
    ip netns exec "$(name_of "${hosts[r]}")" env RANK=$r WORLD_SIZE=2 PLAIT_JOB="lab-$$-$name" PLAIT_HOST_ID="${hosts[r]}" PLAIT_NETWORK="$network" \
      PLAIT_ROOT="$(address_of a):$port" PLAIT_SECRET_FILE="$lab_folder/secret" setpriv --pdeathsig KILL \
      "$bench" "$@" >"$lab_folder/$name.$r" 2>&1 </dev/null &
    jobs_of+=($!)
  done
}

# both LABEL NETWORK ARGUMENT...: the two jobs beside each other; the network and the arguments are the large one's.
both() {
  local label=$1 network=$2 pid
  shift 2
  jobs_of=()
  start_job bulk 29541 bulk --tensors 8 --bytes 2097152 --seconds $((seconds + 3)) "$@"
  sleep 2
  network=tcp
  start_job small 29542 small --tensors 1 --bytes 64 --seconds "$seconds"
  for pid in "${jobs_of[@]}"; do
    wait "$pid" || { cat "$lab_folder"/*.[01] >&2; fail "a job failed"; }
  done
  printf '%-40s %s; %s\n' "$label" "$(cat "$lab_folder/bulk.0")" "$(cat "$lab_folder/small.0")"
}

lab_begin
new_secret
add_hosts 2
slow_link a "${mbit}mbit"
slow_link b "${mbit}mbit"
rate=$((mbit * 125000)) # bytes a second
jobs_of=()
start_job small 29542 small --tensors 1 --bytes 64 --seconds "$seconds"
wait "${jobs_of[@]}"
printf '%-40s %s\n' "the small job alone" "$(cat "$lab_folder/small.0")"
small=(--chunk 65536 --window 131072 --fuse 65536)
for _ in 1 2; do
  both "no pacing" tcp --chunk 2097152 --window 4194304
  both "chunks of 64 KiB" tcp "${small[@]}"
  both "chunks of 64 KiB, 92 % of the link" tcp "${small[@]}" --burst 65536 --pace $((rate * 92 / 100))
  both "rail at 93 % of the link" "tcp?rate=$((rate * 93 / 100))+burst=65536" --chunk 2097152 --window 4194304
  both "rail at 93 %, chunks of 64 KiB" "tcp?rate=$((rate * 93 / 100))+burst=65536" "${small[@]}"
done
