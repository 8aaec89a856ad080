#!/usr/bin/env bash
# In the virtual machine: runs tests of a GoogleTest program over soft-RoCE. On a busy machine that loses packets, and what it
# (Linux 6.1) sends again its peer may refuse as an invalid request: seen twice in 84 runs of a test that moves much, beside other
# such machines. A test runs once more if it failed, said that this happened in it, and the devices did send again; all other
# failures count at once.
#
# Usage: suite.sh PROGRAM FILTER
set -euo pipefail

program=${1:?PROGRAM and FILTER are due} filter=${2:?FILTER is due} refused='remote invalid request error (9)'
devices=${PLAIT_TEST_DEVICES:-/sys/class/infiniband}
log=$(mktemp)
sent_again() { cat "$devices"/*/ports/*/hw_counters/completer_retry_err 2>/dev/null | awk '{ n += $1 } END { print n + 0 }'; }
# The cases that failed, one a line; `yes`: that were refused, `no`: others.
failed() {
  awk -v refused="$refused" -v want="$1" '
    /^\[ RUN      \]/ { said = "no" }
    index($0, refused) { said = "yes" }
    /^\[  FAILED  \] .* \([0-9]+ ms\)$/ { sub(/,$/, "", $4); if (said == want) print $4 }' "$log"
}

status=0 before=$(sent_again)
# What has begun is told at once, for whoever has to end this.
PLAIT_LOG=info "$program" "--gtest_filter=$filter" 2>&1 | tee "$log" | sed -un 's/^\[ RUN      \] /-- /p' || status=$?
again=$(failed yes | paste -sd:)
# One that did not end has not said all that failed.
ended=$(grep -c '^\[==========\] .* ran\.' "$log" || true)
if ((status == 0 || ended == 0)) || [[ -z $again || -n $(failed no) ]] || (($(sent_again) == before)); then
  cat "$log"
  exit "$status"
fi
sed 's/^\[  FAILED  \]/[  REFUSED ]/' "$log"
printf 'soft-RoCE refused a request of its own (%s); once more: %s\n' "$refused" "$again"
"$program" "--gtest_filter=$again"
