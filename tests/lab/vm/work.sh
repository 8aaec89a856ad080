#!/usr/bin/env bash
# A MiB, as one transfer and as 16 of 64 KiB posted together, costs the device as many work requests and doorbells as
# ib_write_bw (perftest) spends on it. Runs in the virtual machine: a doorbell of soft-RoCE is a system call there, which
# strace counts.
#
# Usage: work.sh TEST_VERBS
set -euo pipefail

for program in ib_write_bw:perftest strace:strace; do
  command -v "${program%:*}" >/dev/null || {
    printf 'skipped: no %s here (Debian package %s)\n' "${program%:*}" "${program#*:}"
    exit 77
  }
done
tests=$(readlink -f "$1")
cd /run

# doorbells COMMAND...: prints how often it told the device of work (command 28 of the kernel's verbs).
doorbells() {
  strace -f -qq -e trace=write -o trace "$@" >said 2>&1 || {
    cat said >&2
    return 1
  }
  grep -c 'write([0-9]*, "\\34\\0\\0\\0' trace
}

# theirs SIZE COUNT LIST: of ib_write_bw, without those of its server. A retransmission timeout (-u) of 4.3 s instead of 67 ms, as
# an emulated machine may stand still for longer than its seven retries; what fails all the same is tried three times.
theirs() {
  local options=(-x 1 -F -u 20 -s "$1" -n "$2" -l "$3") server status
  for _ in 1 2 3; do
    ib_write_bw -d rxe2 "${options[@]}" >server 2>&1 &
    server=$!
    for ((i = 0; i < 300; ++i)); do
      if ss -ltn | grep -q :18515 || ! kill -0 "$server" 2>/dev/null; then break; fi
      sleep 0.1
    done
    status=0
    doorbells ib_write_bw -d rxe1 "${options[@]}" 10.77.0.2 || status=$?
    ((status == 0)) || kill "$server" 2>/dev/null || true
    wait "$server" || true
    ((status != 0)) || return 0
    cat server >&2
  done
  echo "FAILED: ib_write_bw ends with status $status" >&2
  return 1
}

# Both ends of ours are one process: each sends a hello, which is not part of the transfers.
ours() {
  local all
  all=$(doorbells "$1" --gtest_filter="Work.$2") && echo $((all - 2))
}

failed=0
compare() {
  printf '%s: %s doorbells, of ib_write_bw %s\n' "$1" "$2" "$3"
  [[ -n $2 && $2 == "$3" ]] || failed=1
}
compare "20 x 1 MiB" "$(ours "$tests" OneByOne)" "$(theirs 1048576 20 1)"
compare "20 x 16 x 64 KiB" "$(ours "$tests" InLists)" "$(theirs 65536 320 16)"
((failed == 0)) || echo "FAILED: not the same" >&2
exit "$failed"
