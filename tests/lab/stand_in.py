#!/usr/bin/env python3
"""A MiB over a socket, for the tests of the lab itself. Usage: stand_in.py receive|send ADDRESS"""

import socket
import sys
import time

PORT, SIZE = 29533, 1 << 20
role, address = sys.argv[1:]
family = socket.AF_INET6 if ":" in address else socket.AF_INET

if role == "receive":
    with socket.create_server((address, PORT), family=family) as server:
        peer, _ = server.accept()
        got = sum(len(part) for part in iter(lambda: peer.recv(1 << 16), b""))
        sys.exit(0 if got == SIZE else f"{got} bytes came instead of {SIZE}")

deadline = time.monotonic() + 10
while True:
    try:
        with socket.create_connection((address, PORT), timeout=2) as peer:
            peer.sendall(bytes(SIZE))
            peer.shutdown(socket.SHUT_WR)
            peer.recv(1)  # closed by the receiver: all of it is there
        break
    except OSError as error:
        if time.monotonic() > deadline:
            sys.exit(f"{address}: {error}")
        time.sleep(0.05)
