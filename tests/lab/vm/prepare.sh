# shellcheck shell=bash disable=SC2034,SC2154  # variables go to, and come from, what sources it
# What the virtual machine boots: Debian's kernel, unpacked (never installed) and an initial RAM disk with the modules
# that it needs before it sees files. Made once, in the cache. Sourced by run.

# prepare CACHE: sets cache, kernel_folder, kernel_image and initrd. Two that prepare at once wait for one another.
prepare() {
  cache=$1
  mkdir -p "$cache" 2>/dev/null || true
  [[ -w $cache ]] || skip "$cache cannot be written (PLAIT_VM_CACHE names another folder)"
  exec 8>"$cache/lock"
  flock 8
  find_kernel || fetch_kernel
  local release
  release=$(basename "$kernel_folder"/lib/modules/*)
  kernel_image=$kernel_folder/vmlinux
  # Unpacked already, since the emulated machine would take long to.
  [[ -s $kernel_image ]] || whole "$kernel_image" python3 "$here/unpack_kernel.py" "$kernel_folder/boot/vmlinuz-$release"
  initrd=$kernel_folder/initrd-$(cat "$here/prepare.sh" "$here/init" | sha256sum | cut -c 1-16)
  [[ -s $initrd ]] || whole "$initrd" make_initrd "$release"
  exec 8>&-
}

# whole FILE COMMAND...: FILE becomes what the command prints, or, when that fails, nothing.
whole() {
  local file=$1
  shift
  if "$@" >"$file.part"; then mv "$file.part" "$file"; else
    rm -f "$file.part"
    skip "$file could not be made"
  fi
}

# The newest in the cache.
find_kernel() {
  kernel_folder=$(find "$cache" -maxdepth 1 -name 'linux-image-*-amd64' -type d | sort -V | tail -1)
  [[ -n $kernel_folder ]]
}

fetch_kernel() {
  local package why
  package=$(apt-cache depends linux-image-amd64 2>/dev/null | awk '/Depends: linux-image-[0-9]/ { print $2; exit }')
  if [[ -z $package ]]; then
    if ((EUID == 0)); then apt-get -qq update >/dev/null 2>&1 || true; fi
    package=$(apt-cache depends linux-image-amd64 2>/dev/null | awk '/Depends: linux-image-[0-9]/ { print $2; exit }')
  fi
  [[ -n $package ]] || skip "apt knows no linux-image-amd64, whose kernel the virtual machine boots (apt-get update?)"
  say "fetching Debian's package $package"
  rm -rf "$cache/fetch"
  mkdir -p "$cache/fetch/root"
  why=$(cd "$cache/fetch" && apt-get -qq -o APT::Sandbox::User=root download "$package" 2>&1 &&
    dpkg-deb -x "$package"_*.deb root 2>&1) || skip "apt could not fetch $package: ${why##*$'\n'}"
  depmod -b "$cache/fetch/root" "$(basename "$cache"/fetch/root/lib/modules/*)"
  kernel_folder=$cache/$package
  mv "$cache/fetch/root" "$kernel_folder"
  rm -rf "$cache/fetch"
}

# busybox, the modules in the order in which they load, and init. On standard output.
make_initrd() (
  set -euo pipefail
  folder=$(mktemp -d)
  trap 'rm -rf "$folder"' EXIT
  mkdir -p "$folder"/{bin,modules,proc,sys,dev,new,root,changes}
  cp "$(command -v busybox)" "$folder/bin/busybox"
  install -m 755 "$here/init" "$folder/init"
  for module in virtio_pci 9p 9pnet_virtio overlay; do
    modprobe -d "$kernel_folder" -S "$1" --show-depends "$module"
  done | awk '$1 == "insmod" && !seen[$2]++ { print $2 }' | while read -r file; do
    name=$(basename "$file" .xz)
    case $file in *.xz) xz -dc "$file" ;; *) cat "$file" ;; esac >"$folder/modules/$name"
    printf '%s\n' "$name" >>"$folder/modules/order"
  done
  cd "$folder"
  find . | cpio -o -H newc --quiet | gzip -1
)
