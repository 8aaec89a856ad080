#!/usr/bin/env bash
# Who listens on the network between two hosts finds the gradients without TLS, and not with it.
#
# Usage: capture_tls.sh
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lab.sh"
: "${PLAIT_MARKER:?set by meson: path of marker}"
. "$lab_sources/tcpdump.sh"

# captured NETWORK: how often the phrase is on the wire, and how many bytes are, while a job runs over it.
captured() {
  local file=$lab_folder/capture
  capture a "$file"
  rank_env=("PLAIT_NETWORK=$1")
  start_ranks "1 1" "$PLAIT_MARKER"
  wait_ranks 120
  expect_good
  end_captures
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
