# shellcheck shell=bash disable=SC2154,SC2034 # variables come from, and go to, what sources it
# The lab: several hosts on one machine, for tests of what happens between hosts. Sourced by bash:
#
#   . lab.sh
#   lab_begin                      # skips the test (77) where the lab cannot be; takes everything away at the end
#   add_hosts 2                    # hosts a and b, joined by network eth0; see hosts.sh
#   start_ranks "2 2" plait-perf allreduce -e 1M   # ranks 0 and 1 on a, 2 and 3 on b; see ranks.sh
#   wait_ranks 60
#   expect_good
#
# A host is a network namespace, plait-PID-a and so on, PID being this shell's: so a later lab knows what a killed one
# left behind. Needs root and `ip netns`.

lab_sources=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
lab_folder=
export LC_ALL=C # $EPOCHREALTIME has a point in it, and messages are as the tests know them

# shellcheck source-path=SCRIPTDIR
. "$lab_sources/hosts.sh"
. "$lab_sources/ranks.sh"

# The last line that a test prints is what `scripts/test` gives as the reason.
skip() {
  printf 'skipped: %s\n' "$*"
  exit 77
}

# Ends the test as failed. What the ranks said comes first: the sentence stands last, where one looks.
fail() {
  show_ranks >&2
  printf 'FAILED: %s\n' "$*" >&2
  exit 1
}

lab_begin() {
  ((EUID == 0)) || skip "the lab needs root, to make network namespaces"
  command -v ip >/dev/null || skip "the lab needs ip (Debian package iproute2)"
  trap lab_end EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM
  lab_folder=$(mktemp -d "${TMPDIR:-/tmp}/plait-lab.$$.XXXXXX")
  remove_stale
  try_hosts
}

# Bash runs it for whatever ends the shell but SIGKILL. Ranks die even then (ranks.sh), and the namespaces are taken
# away by the next lab.
lab_end() {
  local status=$? host
  trap '' INT TERM
  { # bash would print a line for each rank that is killed
    for host in $(ip netns list | awk -v mine="plait-$$-" 'index($1, mine) == 1 { print $1 }'); do
      remove_host "$host"
    done
    wait || true
  } 2>/dev/null
  [[ -z $lab_folder ]] || rm -rf "$lab_folder"
  exit "$status"
}
