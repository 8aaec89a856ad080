#!/usr/bin/env bash
# Who listens on the network between two hosts finds the gradients without TLS, and not with it.
#
# Usage: capture_tls.sh
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lab.sh"
: "${PLAIT_MARKER:?set by meson: path of marker}"
command -v tcpdump >/dev/null || skip "it needs tcpdump (Debian package tcpdump)"

# captured NETWORK: how often the phrase is on the wire, and how many bytes are, while a job runs over it.
captured() {
  local file=$lab_folder/capture limit=$((SECONDS + 30))
  on a tcpdump -i any -y LINUX_SLL -s 0 -U -w "$file" tcp 2>"$lab_folder/tcpdump" &
  local tcpdump=$!
  until grep -qs 'listening on' "$lab_folder/tcpdump"; do
    kill -0 "$tcpdump" 2>/dev/null || fail "tcpdump ended: $(cat "$lab_folder/tcpdump")"
    ((SECONDS < limit)) || fail "tcpdump does not begin"
    sleep 0.05
  done
  rank_env=("PLAIT_NETWORK=$1")
  start_ranks "1 1" "$PLAIT_MARKER"
  wait_ranks 120
  expect_good
  sleep 1 # for the last packets to be written
  kill "$tcpdump"
  wait "$tcpdump" || true
  phrases=$(grep -aoF "these are gradients" "$file" | wc -l || true)
  bytes=$(stat -c %s "$file")
}

lab_begin
add_hosts 2

captured tcp
echo "without TLS: $phrases phrases in $bytes bytes"
((phrases > 1000)) || fail "the phrase is not on the wire without TLS: this test would see nothing"

captured 'tcp?tls=1'
echo "with TLS: $phrases phrases in $bytes bytes"
((bytes > 1 << 20)) || fail "less was captured than was sent"
((phrases == 0)) || fail "the gradients are on the wire in spite of TLS"
echo "good: gradients are on the wire without TLS, and not with it"
