#!/usr/bin/env python3
"""Strangers of the lab: who looks through a capture for the secret, says again what others said, or keeps a door busy.

Usage: stranger.py secret FILE CAPTURE...        fails when a part of the secret is in a capture, in any usual form
       stranger.py root CAPTURE ADDRESS PORT     what dialers said to PORT in the capture, again, to ADDRESS
       stranger.py data CAPTURE ADDRESS MIN MAX  what was said first on data connections, to each open port in between
       stranger.py crowd ADDRESS PORT            1,000 connections: garbage, slow bytes, silence; until they are ended
"""

import base64
import random
import resource
import socket
import sys
import time

from recording import streams

PATIENCE = 20  # seconds: a listener cuts strangers off within 5
REFUSED = (1).to_bytes(4, "little")
ANSWER = 2  # of a hello of TCP: the peer that the ticket names


def family(address):
    return socket.AF_INET6 if ":" in address else socket.AF_INET


def connect(address, port, seconds):
    deadline = time.monotonic() + seconds
    while True:
        peer = socket.socket(family(address))
        try:
            peer.settimeout(2)
            peer.connect((address, port))
            peer.settimeout(PATIENCE)
            return peer
        except OSError:
            peer.close()
            if time.monotonic() > deadline:
                return None
            time.sleep(0.02)


def forms_of(secret):
    """Every 8 bytes of it, in each form that somebody may have printed or sent."""
    texts = [secret, secret.hex().encode(), secret.hex().upper().encode()]
    for cut in range(3):  # base64 of a text depends on where in it the secret begins
        code = base64.b64encode(secret[cut:]).rstrip(b"=")[:-1]
        texts += [code, code.translate(bytes.maketrans(b"+/", b"-_"))]
    return {text[i : i + 8] for text in texts for i in range(len(text) - 7)}


def look_for_secret(file, captures):
    with open(file, "rb") as opened:
        forms = forms_of(opened.read())
    greetings = 0
    for path in captures:
        with open(path, "rb") as opened:
            texts = [opened.read()]
        for direction in streams(path):
            texts += direction.values()  # what is cut by the end of a packet
            greetings += sum(text.startswith(b"PLAITbs\n") for text in direction.values())
        if any(form in text for text in texts for form in forms):
            sys.exit(f"{path}: a part of the secret is in it")
    if greetings < 2:
        sys.exit("no bootstrap was captured")
    print(f"{greetings} greetings were captured, and no 8 bytes of the secret in {len(forms)} forms")


def read_all(peer):
    """What it says until it ends the connection, or hangs up in another way; None: it does not."""
    heard = b""
    try:
        while part := peer.recv(4096):
            heard += part
    except TimeoutError:
        return None
    except OSError:
        pass
    return heard


def say(peer, text):
    try:
        peer.sendall(text)
    except OSError:
        pass  # it has heard enough


def replay_root(capture, address, port):
    said, _ = streams(capture)
    texts = [text for (_, listener), text in said.items() if listener[1] == port and text]
    if not texts:
        sys.exit(f"{capture}: nobody dialed port {port}")
    peer = connect(address, port, 30)  # it says nothing: that must not hide what comes after it
    if not peer:
        sys.exit(f"{address}:{port} cannot be reached")
    peer.close()
    for text in texts * 3:
        peer = connect(address, port, 5)
        say(peer, text)
        heard = read_all(peer)
        # A greeting, which is fresh, and a verdict: docs/security.md.
        if heard is None or not (len(heard) == 88 and heard[48:52] == REFUSED):
            sys.exit(f"a replay was not refused, but heard {heard!r}")
    print(f"{len(texts)} recorded dialers, {3 * len(texts)} replays: all refused")


def replay_data(capture, address, first, last):
    said, _ = streams(capture)
    texts = [text for text in said.values() if text.startswith(b"PTCP")][:12]
    if not texts:
        sys.exit(f"{capture}: no data connection was captured")
    tried = 0
    for port in range(first, last + 1):
        for text in texts:
            peer = connect(address, port, 0)
            if peer is None:
                break
            tried += 1
            say(peer, text)
            heard = read_all(peer)
            if heard is None:
                sys.exit(f"{address}:{port} listens to a replay")
            if heard[:4] == b"PTCP" and heard[6] == ANSWER:
                sys.exit(f"{address}:{port} answered a replay")
    if tried == 0:
        sys.exit(f"no port of {first} to {last} was open at {address}")
    print(f"{len(texts)} recorded data connections, {tried} replays: all were cut off")


def crowd(address, port):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(max(soft, 2048), hard), hard))
    peers = [connect(address, port, 30)]
    if peers[0] is None:
        sys.exit(f"{address}:{port} cannot be reached")
    while len(peers) < 1000:
        peer = socket.socket(family(address))
        peer.setblocking(False)
        peer.connect_ex((address, port))
        peers.append(peer)
    print("1000 strangers came", flush=True)
    preamble = b"PLAITbs\n" + (1).to_bytes(4, "little") * 2
    for second in range(600):
        for i, peer in enumerate(peers):
            try:
                if i % 3 == 0 and second == 0:
                    peer.send(random.randbytes(random.randrange(1, 4096)))
                elif i % 3 == 1:
                    peer.send(preamble[second : second + 1] or b"\0")
            except OSError:
                pass  # not there yet, or cut off
        time.sleep(1)


what, *rest = sys.argv[1:]
if what == "secret":
    look_for_secret(rest[0], rest[1:])
elif what == "root":
    replay_root(rest[0], rest[1], int(rest[2]))
elif what == "data":
    replay_data(rest[0], rest[1], int(rest[2]), int(rest[3]))
elif what == "crowd":
    crowd(rest[0], int(rest[1]))
else:
    sys.exit(__doc__)
