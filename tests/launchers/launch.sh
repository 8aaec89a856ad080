# shellcheck shell=bash disable=SC2154 # variables come from what sources it
# What the tests of real launchers share. Sourced by openmpi.sh and so on, each of which says how N ranks are started:
#
#   launcher=openmpi                      # its name, and that of environments/openmpi.txt
#   variables='^OMPI_COMM_WORLD_'         # of what it sets, those that say who a rank is
#   launch() { ... }                      # launch N COMMAND...
#   check "$1"
#
# Usage of each: openmpi.sh environment|allreduce|record
#   environment   what environments/openmpi.txt says the launcher sets is what it sets: plait's table of launchers, and
#                 its test, go by that file
#   allreduce     plait-perf runs under it, without plait-run: PLAIT_PERF
#   record        writes environments/openmpi.txt anew

sources=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
folder=

skip() {
  printf 'skipped: %s\n' "$*"
  exit 77
}

fail() {
  printf 'FAILED: %s\n' "$*" >&2
  exit 1
}

fail_with_log() {
  cat "$folder/log" >&2
  fail "$@"
}

# need PROGRAM PACKAGE
need() { command -v "$1" >/dev/null || skip "$1 is not installed (Debian package $2)"; }

begin() {
  trap end EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM
  folder=$(mktemp -d "${TMPDIR:-/tmp}/plait-launch.XXXXXX")
  export TMPDIR=$folder # what launchers leave behind goes with it
  (umask 077 && head -c 32 /dev/urandom >"$folder/secret")
  export PLAIT_SECRET_FILE=$folder/secret
  # The tests may run under a launcher themselves, and what it says would contradict.
  local name
  for name in $(compgen -e); do
    [[ ! $name =~ ^(RANK|WORLD_SIZE|LOCAL_.*|GROUP_.*|MASTER_.*|OMPI_.*|PMI.*|SLURM_.*|PLAIT_(JOB|ROOT|HOST_ID))$ ]] ||
      unset "$name"
  done
}

# A launcher's script may have more to stop: it defines stop.
stop() { :; }
end() {
  local status=$?
  trap '' INT TERM
  stop
  [[ -z $folder ]] || rm -rf "$folder"
  exit "$status"
}

# A launcher that does not come back must not hang the test. Where other work has the cores, torchrun takes a minute.
limited() { timeout --kill-after=5 200 "$@"; }

check() {
  case ${1:-} in
    environment) check_environment ;;
    allreduce) check_allreduce ;;
    record) describe >"$sources/environments/$launcher.txt" ;;
    *) fail "usage: $launcher.sh environment|allreduce|record" ;;
  esac
}

# Writes to FOLDER/0 and FOLDER/1 what each of two ranks finds in its environment, as far as `variables` goes.
environments_of() {
  local to=$1 rank
  mkdir "$to"
  launch 2 sh -c "env | sort >'$to/raw'.\$$rank_variable" >"$folder/log" 2>&1 || fail_with_log "$launcher failed"
  for rank in 0 1; do
    [[ -e $to/raw.$rank ]] || fail "no rank found $rank_variable=$rank in its environment"
    grep -E "$variables" "$to/raw.$rank" >"$to/$rank"
  done
}

describe() {
  environments_of "$folder/now"
  printf '# What %s sets for two ranks on one host, of what tells who they are. Written by %s.sh record.\n' \
    "$(version | head -n 1)" "$launcher"
  for rank in 0 1; do
    printf '\n[rank %d]\n' "$rank"
    cat "$folder/now/$rank"
  done
}

# Small numbers, such as ranks and sizes, must be as recorded; of the rest, such as ports and paths, the names.
comparable() { sed -E 's/^([^=]+)=([0-9]{1,2})$/\1=\2/;t;s/=.*//'; }

check_environment() {
  local missing recorded=$sources/environments/$launcher.txt
  describe >"$folder/described"
  missing=$(diff <(comparable <"$recorded" | grep -v '^#') <(comparable <"$folder/described" | grep -v '^#') |
    grep '^<' || true)
  [[ -z $missing ]] || fail "recorded in $recorded, and not so under $(version | head -n 1):"$'\n'"$missing"
  echo "good: $(version | head -n 1) sets what $launcher.txt says"
}

check_allreduce() {
  local rows=$folder/rows.json
  : "${PLAIT_PERF:?set by meson: path of plait-perf}"
  launch 4 "$PLAIT_PERF" allreduce -b 8 -e 1M -f 8 -n 5 --json "$rows" >"$folder/log" 2>&1 ||
    fail_with_log "plait-perf failed under $launcher"
  python3 "$sources/../lab/check_rows.py" "$rows" allreduce 4 >/dev/null || fail "plait-perf under $launcher, see above"
  echo "good: 4 ranks of plait-perf under $(version | head -n 1)"
}
