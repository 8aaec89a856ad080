#!/usr/bin/env bash
# Chips of several virtual machines, a machine each, in the window of one PCI device: icl-info and icl-ping see them, the
# collectives between them give no wrong element, and a machine that dies is named. pciwin_machine.sh runs in each.
#
# Usage: pciwin.sh MACHINES LIMIT ICL_TOOLS PLAIT_PERF
#   LIMIT       seconds, of all of it
#   ICL_TOOLS   the folder of icl-pod, icl-info and icl-ping
set -euo pipefail

machines=$1 limit=$2 tools=$(readlink -f "$3") perf=$(readlink -f "$4")
here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
folder=$(mktemp -d "${TMPDIR:-/tmp}/plait-pciwin.XXXXXX")
window=$(mktemp /dev/shm/plait-pciwin.XXXXXX)
jobs=()
# shellcheck disable=SC2317  # the trap calls it
finish() {
  for job in "${jobs[@]}"; do kill "$job" 2>/dev/null || true; done
  rm -rf "$folder" "$window"
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

truncate -s 64M "$window"
head -c 32 /dev/urandom | od -An -tx1 | tr -d ' \n' >"$folder/secret"
chmod 600 "$folder/secret"
port=$((20000 + $$ % 20000)) # of the switch: this run's alone
for ((n = 0; n < machines; ++n)); do
  "$here/run" --limit "$limit" --cpus 1 --memory 1G --no-network --window "$window" --switch "$port:$((n + 1))" \
    bash "$here/pciwin_machine.sh" "$n" "$machines" "$tools" "$perf" "$folder/secret" >"$folder/said$n" 2>&1 &
  jobs+=($!)
done

failed=0
for ((n = 0; n < machines; ++n)); do
  status=0
  wait "${jobs[n]}" || status=$?
  if ((status == 77)); then
    cat "$folder/said$n"
    exit 77
  fi
  ((status == 0)) || failed=1
  printf '== machine %s ended with %s\n' "$n" "$status"
  cat "$folder/said$n"
done
jobs=()
((failed == 0)) || echo "FAILED" >&2
exit "$failed"
