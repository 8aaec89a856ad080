# shellcheck shell=bash disable=SC2154,SC2034 # variables come from, and go to, what sources it
# What the tests of failing share. Sourced by them, after lab.sh. PLAIT_PERF: the program.

: "${PLAIT_PERF:?set by meson: path of plait-perf}"

# 64 MiB again and again, until something happens. Nothing is checked: all time is spent in the collective.
endless=("$PLAIT_PERF" allreduce -b 64M -e 64M -n 1000000 -w 0 -c 0)

# start_endless LAYOUT: returns when all ranks are in the midst of it, and bytes have crossed where there are two hosts.
start_endless() {
  start_ranks "$1" "${endless[@]}"
  await_work "${!rank_host[@]}"
  [[ $1 != *" "* ]] || (($(received_by_all) > 64 << 20)) ||
    fail "64 MiB are summed, yet only $(received_by_all) bytes crossed"
}

# lay_out LAYOUT: as many hosts as it names.
lay_out() {
  local counts
  read -ra counts <<<"$1"
  add_hosts "${#counts[@]}"
}

# Each of these ranks ended with an error that names one of the ranks of the pattern.
expect_named() {
  local pattern=$1 r
  shift
  for r in "$@"; do expect_error "$r" "rank $pattern\\b"; done
}
