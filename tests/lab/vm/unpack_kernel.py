"""Writes the kernel that is packed in a vmlinuz (xz) to standard output, as the ELF file it is.

Usage: python3 unpack_kernel.py VMLINUZ
"""

import lzma
import sys

with open(sys.argv[1], "rb") as file:
    packed = file.read()
begin = packed.find(b"\xfd7zXZ\0")
if begin < 0:
    sys.exit(f"{sys.argv[1]}: no kernel packed by xz is in it")
kernel = lzma.LZMADecompressor().decompress(packed[begin:])
if kernel[:4] != b"\x7fELF":
    sys.exit(f"{sys.argv[1]}: what is packed in it is no ELF file")
sys.stdout.buffer.write(kernel)
