"""TCP connections out of what tcpdump wrote: `tcpdump -i any -y LINUX_SLL -w FILE`."""

import collections
import ipaddress
import struct

LINUX_SLL = 113


def packets(path):
    """(source, destination, sequence, syn, payload) of each TCP packet; an end is (address, port)."""
    with open(path, "rb") as file:
        data = file.read()
    magic, link = struct.unpack_from("<I", data)[0], struct.unpack_from("<I", data, 20)[0]
    if magic != 0xA1B2C3D4 or link != LINUX_SLL:
        raise SystemExit(f"{path}: not a capture of the kind that is understood here")
    at = 24
    while at + 16 <= len(data):
        length = struct.unpack_from("<I", data, at + 8)[0]
        packet = data[at + 16 : at + 16 + length]
        at += 16 + length
        found = tcp_of(struct.unpack_from(">H", packet, 14)[0], packet[16:])
        if found:
            yield found


def tcp_of(kind, ip):
    if kind == 0x0800 and ip[9] == 6:
        header = (ip[0] & 15) * 4
        tcp = ip[header : struct.unpack_from(">H", ip, 2)[0]]
        source, destination = ipaddress.ip_address(ip[12:16]), ipaddress.ip_address(ip[16:20])
    elif kind == 0x86DD and ip[6] == 6:
        tcp = ip[40 : 40 + struct.unpack_from(">H", ip, 4)[0]]
        source, destination = ipaddress.ip_address(ip[8:24]), ipaddress.ip_address(ip[24:40])
    else:
        return None
    source_port, destination_port, sequence = struct.unpack_from(">HHI", tcp)
    syn = bool(tcp[13] & 2)
    return (str(source), source_port), (str(destination), destination_port), sequence, syn, tcp[(tcp[12] >> 4) * 4 :]


def streams(path, most=1 << 20):
    """{(dialer, listener): bytes from the dialer}, {...: bytes from the listener}: the first `most` of each."""
    begun, pieces = {}, collections.defaultdict(dict)
    dialers = []
    for source, destination, sequence, syn, payload in packets(path):
        if syn:
            begun[source, destination] = (sequence + 1) % 2**32
            if (destination, source) not in begun:
                dialers.append((source, destination))
        elif payload and (source, destination) in begun:
            offset = (sequence - begun[source, destination]) % 2**32
            pieces[source, destination].setdefault(offset, payload)
    said = {ends: joined(pieces[ends], most) for ends in dialers}
    answered = {ends: joined(pieces[ends[1], ends[0]], most) for ends in dialers}
    return said, answered


def joined(pieces, most):
    text = b""
    for offset in sorted(pieces):
        if offset > len(text) or len(text) >= most:
            break
        text += pieces[offset][len(text) - offset :]
    return text[:most]
