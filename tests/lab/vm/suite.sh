#!/usr/bin/env bash
# In the virtual machine: runs tests of a GoogleTest program over soft-RoCE. On a busy machine that loses packets, and what it
# (Linux 6.1) sends again its peer may refuse as an invalid request: seen twice in 84 runs of a test that moves much, beside other
# such machines. Tests that failed where that happened run once more; where it did not, they have failed.
#
# Usage: suite.sh PROGRAM FILTER
set -euo pipefail

program=${1:?PROGRAM and FILTER are due} refused='remote invalid request error (9)'
log=$(mktemp)
status=0
# What has begun is told at once, for whoever has to end this.
PLAIT_LOG=info "$program" "--gtest_filter=$2" 2>&1 | tee "$log" | sed -un 's/^\[ RUN      \] /-- /p' || status=$?
failed=$(sed -nE 's/^\[  FAILED  \] ([^ ,]+).* \([0-9]+ ms\)$/\1/p' "$log" | paste -sd:)
if ((status == 0)) || [[ -z $failed ]] || ! grep -qF "$refused" "$log"; then
  cat "$log"
  exit "$status"
fi
sed 's/^\[  FAILED  \]/[  REFUSED ]/' "$log"
printf 'soft-RoCE refused a request of its own (%s); once more: %s\n' "$refused" "$failed"
"$program" "--gtest_filter=$failed"
