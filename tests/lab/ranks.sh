# shellcheck shell=bash disable=SC2154,SC2034 # variables come from, and go to, what sources it
# Ranks of a job over the hosts of the lab, and what a test expects of them. Sourced by lab.sh.
#
# A test sets, before start_ranks:
family=4       # of the address where rank 0 is met
root_network=eth0
rank_env=()    # more variables for all ranks: rank_env=(PLAIT_TIMEOUT=5)
absent=()      # ranks that are never started
# It finds, after it:
world=0        # ranks in the job
rank_host=()   # by rank: where it is
rank_pid=()    # by rank: its process; empty for those absent
rank_status=() # by rank, after wait_ranks: its exit status, or "hung" where wait_ranks had to kill it
rank_end=()    # by rank, after wait_ranks: when that was seen, in microseconds

now_us() { printf '%s' "${EPOCHREALTIME/./}"; }

among() {
  local one wanted=$1
  shift
  for one in "$@"; do [[ $one != "$wanted" ]] || return 0; done
  return 1
}

root_address() {
  local host
  host=$(address_of "${rank_host[0]}" "$family" "$root_network")
  if ((family == 6)); then printf '[%s]:29533' "$host"; else printf '%s:29533' "$host"; fi
}

# start_ranks LAYOUT COMMAND...: "3 2 1" is six ranks, 0 to 2 on the first host. They get the variables that somebody who
# starts ranks by hand would set, and nothing of a launcher that the tests themselves may run under.
start_ranks() {
  local counts h local_rank r local_ranks=()
  read -ra counts <<<"$1"
  shift
  rank_host=() rank_pid=() rank_status=() rank_end=()
  for h in "${!counts[@]}"; do
    for ((local_rank = 0; local_rank < counts[h]; local_rank++)); do
      rank_host+=("${hosts[h]}")
      local_ranks+=("$local_rank ${counts[h]}")
    done
  done
  world=${#rank_host[@]}
  new_secret
  job=lab-$$-$((++jobs_started))
  for ((r = 0; r < world; r++)); do
    # shellcheck disable=SC2086  # two words
    if among "$r" "${absent[@]}"; then rank_pid+=(""); else start_rank "$r" ${local_ranks[r]} "$@"; fi
  done
}
jobs_started=0

new_secret() {
  secret=$lab_folder/secret
  (umask 077 && head -c 32 /dev/urandom >"$secret")
}

# start_rank RANK LOCAL_RANK LOCAL_WORLD_SIZE COMMAND...: each program here becomes the next, so that the process known here
# is the rank itself. It dies with this shell. Its host has a name of its own, host-a, which nobody resolves.
start_rank() {
  local r=$1
  local variables=(RANK="$1" WORLD_SIZE="$world" LOCAL_RANK="$2" LOCAL_WORLD_SIZE="$3" PLAIT_JOB="$job"
    PLAIT_ROOT="$(root_address)" PLAIT_SECRET_FILE="$secret" "${rank_env[@]}"
    LAB_ADDRESS="$(address_of "${rank_host[r]}" "$family" "$root_network")") # for stand-ins and peers: plait asks nobody
  shift 3
  # shellcheck disable=SC2016 # the rank's shell expands it
  ip netns exec "$(name_of "${rank_host[r]}")" unshare --uts sh -c 'hostname "$0" && exec "$@"' "host-${rank_host[r]}" \
    env "${variables[@]}" setpriv --pdeathsig KILL "$@" </dev/null >"$lab_folder/out.$r" 2>"$lab_folder/err.$r" &
  rank_pid[r]=$!
}

signal_rank() { kill "-$2" "${rank_pid[$1]}"; }

# await_ranks SECONDS RANK...: until these have ended. One that has not by then is "hung", and killed. Standard error is
# closed to bash, which would print a line for each rank that a signal ended.
await_ranks() {
  local limit r left
  limit=$(($(now_us) + $1 * 1000000))
  shift
  while :; do
    left=0
    for r in "$@"; do
      [[ -n ${rank_pid[r]} && -z ${rank_status[r]:-} ]] || continue
      if ! kill -0 "${rank_pid[r]}"; then note_end "$r"; else left=1; fi
    done
    ((left)) || return 0
    (($(now_us) < limit)) || break
    sleep 0.02
  done
  for r in "$@"; do
    [[ -n ${rank_pid[r]} && -z ${rank_status[r]:-} ]] || continue
    kill -KILL "${rank_pid[r]}" || true
    note_end "$r"
    rank_status[r]=hung
  done
} 2>/dev/null

wait_ranks() { await_ranks "$1" "${!rank_host[@]}"; }

note_end() {
  rank_end[$1]=$(now_us)
  rank_status[$1]=0
  wait "${rank_pid[$1]}" || rank_status[$1]=$?
}

# await_work RANK...: until each has computed for a second. A rank of plait-perf in a loop over 64 MiB is in that loop by
# then, wherever its output is buffered.
await_work() {
  local r ticks limit=$((SECONDS + 300))
  for r in "$@"; do
    while :; do
      ticks=$(awk '{ sub(/.*\) /, ""); print $12 + $13 }' "/proc/${rank_pid[r]}/stat" 2>/dev/null) ||
        fail "rank $r ended before anything was done to it"
      ((ticks < $(getconf CLK_TCK))) || break
      ((SECONDS < limit)) || fail "rank $r did not come to work in 300 s"
      sleep 0.05
    done
  done
}

show_ranks() {
  local r file
  for ((r = 0; r < world; r++)); do
    printf -- '---- rank %d on %s: status %s\n' "$r" "${rank_host[r]}" "${rank_status[r]:-none}"
    for file in "$lab_folder/out.$r" "$lab_folder/err.$r"; do
      [[ ! -s $file ]] || tail -c 3000 "$file"
    done
  done
}

# expect_good: each rank ended with 0.
expect_good() {
  local r
  for ((r = 0; r < world; r++)); do
    [[ ${rank_status[r]} == 0 ]] || fail "rank $r: status ${rank_status[r]}, not 0"
  done
}

# expect_error RANK REGEX: it ended by itself, not by a signal and not with 0, and said why on stderr.
expect_error() {
  local status=${rank_status[$1]}
  [[ $status != hung ]] || fail "rank $1 hung, and was to say: $2"
  ((status > 0 && status < 128)) || fail "rank $1: status $status instead of an error"
  grep -Eq -- "$2" "$lab_folder/err.$1" || fail "rank $1 did not say: $2"
}

# expect_soon BEGIN SECONDS RANK...: they had ended by then. A limit against waits that the test is not about, not a
# measurement: machines are shared.
expect_soon() {
  local begin=$1 seconds=$2 r took
  shift 2
  for r in "$@"; do
    took=$(((rank_end[r] - begin) / 1000))
    ((took <= seconds * 1000)) || fail "rank $r ended $took ms after it, not within $seconds s"
  done
}

# others RANK...: all ranks but these.
others() {
  local r
  for ((r = 0; r < world; r++)); do among "$r" "$@" || printf '%d ' "$r"; done
}
