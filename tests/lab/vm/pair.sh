#!/usr/bin/env bash
# plait_write_bw and its like beside those of perftest over soft-RoCE, in the virtual machine: the same options are taken,
# the columns are the same, and bytes that are checked are right.
#
# Usage: pair.sh FOLDER
#   FOLDER   with plait_write_bw, plait_send_lat and so on
set -euo pipefail

command -v ib_write_bw >/dev/null || {
  printf 'skipped: no ib_write_bw here (Debian package perftest)\n'
  exit 77
}
ours=$(readlink -f "$1")
cd /run
failed=0

complain() {
  echo "FAILED: $1" >&2
  failed=1
}

# pair TOOL OPTIONS...: a server on rxe2 and a client on rxe1; the client's output goes to `said`, and is shown.
pair() {
  local tool=$1 status=0
  shift
  printf '\n$ %s -d rxe1 %s 10.77.0.2\n' "${tool##*/}" "$*"
  "$tool" -d rxe2 "$@" >server 2>&1 &
  for ((i = 0; i < 300; ++i)); do
    ! ss -ltn | grep -q :18515 || break
    sleep 0.1
  done
  "$tool" -d rxe1 "$@" 10.77.0.2 >said 2>&1 || status=$?
  wait $! || status=$?
  cat said
  ((status == 0)) || {
    cat server
    complain "${tool##*/} $*: status $status"
  }
}

# columns: the names of the table that was just printed, and how many its row has.
columns() {
  local table
  table=$(grep -A1 '#bytes' said) || table="no table"
  head -1 <<<"$table" | sed 's/MB/MiB/g; s/[[:space:]]*$//' | tr -s ' \t' ' '
  tail -1 <<<"$table" | wc -w
}

# beside NAME OPTIONS...: theirs, then ours.
beside() {
  local name=$1 theirs
  shift
  pair "ib_$name" -F "$@"
  theirs=$(columns)
  pair "$ours/plait_$name" -F "$@"
  [[ $(columns) == "$theirs" ]] || complain "the columns of plait_$name are not those of ib_$name: $(columns) / $theirs"
}

beside write_bw -x 1 -n 200
beside write_bw -x 1 -n 48 -q 2 -l 4 -s 4096 --report_gbits
beside send_lat -x 1 -n 200
beside read_lat -x 1 -n 100 -s 64
beside send_bw -x 1 -n 100 -t 64
beside write_lat -x 1 -n 100 -I 32
for tool in write_bw read_bw send_bw write_lat read_lat send_lat; do
  pair "$ours/plait_$tool" -x 1 -n 30 -s 20000 --data_validation
  grep -q 'Wrong bytes     : 0 OK' said || complain "plait_$tool: bytes were wrong"
done
pair "$ours/plait_write_bw" -R -n 30 -e -b
pair "$ours/plait_send_lat" -R -n 30 -e
((failed == 0)) && echo "good: plait's tools beside perftest's"
exit "$failed"
