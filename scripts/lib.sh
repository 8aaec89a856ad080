# What scripts/demo and scripts/test share: packages, configuring, building. Sourced by bash, from the root of the tree.

build_packages=(meson ninja-build gcc g++ pkg-config libhwy-dev libspdlog-dev libssl-dev libcli11-dev nlohmann-json3-dev libexpat1-dev libzstd-dev liblz4-dev)
test_packages=(libgtest-dev cmake iproute2 nftables openmpi-bin libopenmpi-dev mpich slurm-wlm munge tcpdump
  libucx-dev libfabric-dev libibverbs-dev librdmacm-dev ibverbs-providers qemu-system-x86 busybox-static cpio kmod
  iptables perftest strace liburing-dev libhwloc-dev)
sanitizer_packages=(clang libclang-rt-14-dev)
# Debug information is for the stacks of sanitizers: lines suffice, and cost the compiler a quarter less.
lean=(-Ddebug=false -Dcpp_args=-g1 -Dc_args=-g1)
# What ccache keeps is better still, and it keeps nothing that is compiled with a header that is compiled already.
if [[ -n ${CCACHE_DISABLE:-} ]] || ! command -v ccache >/dev/null; then lean+=(-Dprecompiled_gtest=true); fi

# Eight files at once, as most of the time goes to headers: names that are a file's own must be their folder's own for that.
together=(-Dunity=on -Dunity_size=8)

say() { printf '== %s\n' "$*"; }
die() {
  printf '%s\n' "$@" >&2
  exit 1
}

# Prints those of the packages given that are not installed.
missing_packages() {
  local package
  for package in "$@"; do
    # A line for each architecture that it is there for.
    dpkg-query -W -f='${db:Status-Status}\n' "$package" 2>/dev/null | grep -qx installed || printf '%s\n' "$package"
  done
}

# apt-get without questions; waits for another apt that is running.
apt() { DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=300 -o Dpkg::Use-Pty=0 "$@" </dev/null; }

have_package_lists() { compgen -G '/var/lib/apt/lists/*_Packages*' >/dev/null; }

install_packages() {
  local options=(install -y --no-install-recommends)
  if have_package_lists && apt "${options[@]}" "$@" >/dev/null 2>&1; then return 0; fi
  # No lists of packages, or stale ones.
  say "apt-get update"
  apt update || die "apt-get update failed. Is there a network, and does /etc/apt/sources.list name a mirror?"
  apt "${options[@]}" "$@" >/dev/null || die "apt-get could not install: $*"
}

# Makes sure that the packages given are installed: only what is missing, and says so before.
need_packages() {
  if ! command -v dpkg-query >/dev/null; then
    say "not a Debian system: make sure that it has what these packages of Debian 12 hold: $*"
    return 0
  fi
  local missing
  mapfile -t missing < <(missing_packages "$@")
  ((${#missing[@]} > 0)) || return 0
  if ((EUID != 0)); then
    die "These Debian packages are missing. Install them as root, then run this again:" \
      "  apt-get update && apt-get install -y --no-install-recommends ${missing[*]}"
  fi
  say "installing Debian packages: ${missing[*]}"
  install_packages "${missing[@]}"
}

# Runs a command quietly; what it printed is shown only when it fails.
quietly() {
  local log status=0
  log=$(mktemp)
  "$@" >"$log" 2>&1 || status=$?
  ((status == 0)) || cat "$log" >&2
  rm -f "$log"
  return "$status"
}

# configure FOLDER [meson options...]: makes FOLDER a configured build folder. Costs nothing when it is one. A folder
# that an earlier run left half-made, or that another version of the tools or another place of the tree made, is made
# afresh.
configure() {
  local folder=$1
  shift
  if [[ -f $folder/build.ninja ]] && ninja -C "$folder" build.ninja >/dev/null 2>&1; then return 0; fi
  rm -rf "$folder"
  say "configuring $folder/"
  quietly meson setup "$folder" "$@" || die "meson setup $folder failed; the log is $folder/meson-logs/meson-log.txt"
}

# build FOLDER [targets...]
build() {
  local folder=$1
  shift
  say "building $folder/"
  quietly ninja -C "$folder" "$@" || die "building $folder/ failed; the compiler's messages are above"
}

# A fuzzer of nothing: whether clang and the run-time libraries of its sanitizers are there.
have_clang() {
  clang++ -x c++ -fsanitize=fuzzer,address -o /dev/null - 2>/dev/null <<'END'
extern "C" int LLVMFuzzerTestOneInput(const unsigned char*, unsigned long) { return 0; }
END
}

# sanitized FOLDER SANITIZERS [meson options...]: configures it with clang, which takes half the time of GCC for that code
# and sees more. -O1: half the compile time of -O2, and still far faster to run than -O0.
sanitized() {
  local folder=$1 sanitizers=$2
  shift 2
  CC=clang CXX=clang++ configure "$folder" -Dbuildtype=debug -Doptimization=1 "${lean[@]}" "${together[@]}" \
    -Dwerror=true -Db_lundef=false -Db_sanitize="$sanitizers" "$@"
}

# What scripts/fuzz and scripts/test build the fuzzers in.
configure_asan() { sanitized build-asan address,undefined -Dfuzz=true; }
