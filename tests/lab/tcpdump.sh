# shellcheck shell=bash disable=SC2154,SC2034 # variables come from, and go to, what sources it
# What hosts say and hear, written to files by tcpdump. Sourced after lab.sh by the tests that look at it.

command -v tcpdump >/dev/null || skip "it needs tcpdump (Debian package tcpdump)"

# capture HOST FILE: all that HOST sends and gets, on the loopback interface, too. Returns once it listens.
capture() {
  local limit=$((SECONDS + 30))
  # Not `on`: that would be a shell's child, and the shell what end_captures ends.
  ip netns exec "$(name_of "$1")" tcpdump -i any -y LINUX_SLL -s 0 -B 65536 -U -w "$2" tcp 2>"$2.told" &
  captures[$!]=$2
  until grep -qs 'listening on' "$2.told"; do
    kill -0 "$!" 2>/dev/null || fail "tcpdump ended: $(cat "$2.told")"
    ((SECONDS < limit)) || fail "tcpdump does not begin"
    sleep 0.05
  done
}
declare -A captures=()

# The files are whole: nothing is written to them any more, and nothing was lost.
end_captures() {
  local tcpdump file
  sleep 1 # for the last packets
  for tcpdump in "${!captures[@]}"; do
    file=${captures[$tcpdump]}
    kill "$tcpdump"
    wait "$tcpdump" || fail "tcpdump: $(cat "$file.told")"
    grep -qx '0 packets dropped by kernel' "$file.told" || fail "tcpdump lost packets: $(cat "$file.told")"
  done
  captures=()
}
