"""The capture reader a second time, in plain Python: obvious, slow, no numpy, nothing of the package.

`read(data)` returns the packets as dictionaries and the offset where the file is damaged, or None.
"""

import struct

LIMITS = {231: 1 << 27, 249: 1 << 27, 279: 1 << 23}
IPV4, IPV6, ARP, GOOD, BAD, UNVERIFIED, MALFORMED, FRAGMENT, NONFIRST, DF, OPTIONS, PORTS, HEADER = (
    1 << bit for bit in range(13)
)
NONE = 0xFFFF
NO_TIME = -(1 << 63)


class UnreadableError(Exception):
    pass


class StopWalkError(Exception):
    """The walk ends without a network layer: the bytes end, or what follows is not known."""


class Packet:
    """The captured bytes of one packet; reading beyond them stops the walk."""

    def __init__(self, data):
        self.data = data
        self.end = len(data)
        self.vlans, self.labels, self.tags = 0, 0, []

    def number(self, at, size, order="big"):
        if at + size > self.end:
            raise StopWalkError
        return int.from_bytes(self.data[at : at + size], order)

    def tag(self, kind, value):
        if self.vlans + self.labels < 8:
            self.tags.append((kind, value))
        if kind == 1:
            self.vlans += 1
        else:
            self.labels += 1


def walk_ethernet(p, o):
    kind = p.number(o + 12, 2)
    if kind > 1500:
        return walk_type(p, o + 14, kind)
    if p.number(o + 14, 2) == 0xFFFF:
        raise StopWalkError
    return walk_llc(p, o + 14)


def walk_type(p, o, kind):
    if kind in (0x8100, 0x88A8, 0x9100):
        word = p.number(o, 4)
        p.tag(1, kind << 16 | word >> 16)
        inner = word & 0xFFFF
        return walk_llc(p, o + 4) if inner <= 1500 else walk_type(p, o + 4, inner)
    if kind in (0x8847, 0x8848):
        return walk_mpls(p, o)
    if kind == 0x8864:
        if p.number(o, 6) >> 32 & 0xFF:
            raise StopWalkError
        return walk_ppp(p, o + 6)
    if kind == 0x8870:
        return walk_llc(p, o)
    if kind == 0x88E5:
        p.number(o, 8)
        flags = p.number(o, 1)
        if flags & 0x0C:
            raise StopWalkError
        size = 14 if flags & 0x20 else 6
        return walk_type(p, o + size + 2, p.number(o + size, 2))
    if kind == 0x894F:
        return walk_nsh(p, o)
    return o, kind


def walk_nsh(p, o):
    word = p.number(o, 4)
    p.number(o, 8)
    version, size, how, inner = word >> 30, 4 * (word >> 16 & 63), word >> 8 & 15, word & 255
    if version or size < 8 or (how == 1 and size != 24):
        raise StopWalkError
    if inner == 3:
        return walk_ethernet(p, o + size)
    kinds = {1: 0x0800, 2: 0x86DD, 4: 0x894F, 5: 0x8847}
    if inner not in kinds:
        raise StopWalkError
    return walk_type(p, o + size, kinds[inner])


def walk_mpls(p, o):
    entry = p.number(o, 4)
    p.tag(2, entry)
    if not entry & 0x100:
        return walk_mpls(p, o + 4)
    if entry >> 12 in (13, 14):
        raise StopWalkError
    if p.number(o + 4, 1) >> 4 == 0:
        p.number(o + 4, 4)
        return walk_ethernet(p, o + 8)
    return walk_ip(p, o + 4)


def walk_ip(p, o):
    version = p.number(o, 1) >> 4
    if version not in (4, 6):
        raise StopWalkError
    return o, 0x0800 if version == 4 else 0x86DD


def walk_llc(p, o):
    head = p.number(o, 3)
    if head == 0xAAAA03:
        oui, kind = p.number(o + 3, 3), p.number(o + 3, 5) & 0xFFFF
        if oui not in (0, 0xF8) or kind <= 1500:
            raise StopWalkError
        return walk_type(p, o + 8, kind)
    if head == 0x060603:
        return o + 3, 0x0800
    raise StopWalkError


PPP_PROTOCOLS = {0x21: 0x0800, 0x57: 0x86DD, 0x281: 0x8847, 0x283: 0x8848}


def walk_ppp(p, o):
    if p.number(o, 2) == 0xFF03:
        o += 2
    if p.number(o, 1) & 1:
        protocol, size = p.number(o, 1), 1
    else:
        protocol, size = p.number(o, 2), 2
    if protocol not in PPP_PROTOCOLS:
        raise StopWalkError
    return walk_type(p, o + size, PPP_PROTOCOLS[protocol])


def walk_ppp_hdlc(p, o):
    if p.number(o, 2) >> 8 in (0x0F, 0x8F):
        return walk_type(p, o + 4, p.number(o, 4) & 0xFFFF)
    return walk_ppp(p, o)


def walk_family(p, o, number):
    if number == 2:
        return walk_type(p, o, 0x0800)
    if number in (10, 23, 24, 28, 30):
        return walk_type(p, o, 0x86DD)
    if number > 1500:
        return walk_type(p, o, number)
    raise StopWalkError


def walk_null(p, o, skip=4):
    p.number(o, skip)
    high, low = p.number(o, 4), p.number(o, 4, "little")
    if low == 0x200 or low >> 16 == 2:
        return walk_type(p, o + skip, 0x0800)
    if low > 0xFFFF and high > 0xFFFF:
        return walk_family(p, o + skip, high & 0xFFFF if high & 0xFFFF > 1500 else 0)
    return walk_family(p, o + skip, low if low <= 0xFFFF else high)


def walk_cooked(p, o, size, at):
    p.number(o, size)
    kind = p.number(o + at, 2)
    if kind <= 1500:
        if kind == 4:
            return walk_llc(p, o + size)
        raise StopWalkError
    return walk_type(p, o + size, kind)


def walk_frame_relay(p, o):
    size = 2
    while size <= 4 and o + size <= p.end and p.data[o + size - 1] & 1 == 0:
        size += 1
    if size > 4:
        raise StopWalkError
    o += size
    if p.number(o, 2) >> 8 != 3:
        kind = p.number(o, 2)
        if kind <= 1500:
            raise StopWalkError
        return walk_type(p, o + 2, kind)
    o += 1
    if p.number(o, 1) == 0:
        o += 1
    nlpid = p.number(o, 1)
    o += 1
    if nlpid == 0xCC:
        return o, 0x0800
    if nlpid == 0x8E:
        return o, 0x86DD
    if nlpid != 0x80:
        raise StopWalkError
    oui, kind = p.number(o, 5) >> 16, p.number(o, 5) & 0xFFFF
    if oui == 0x80C2 and kind in (1, 7):
        if kind == 1:  # the frame check sequence is part of the packet
            p.end = max(o + 5, p.end - 4)
        return walk_ethernet(p, o + 5)
    if oui or kind <= 1500:
        raise StopWalkError
    return walk_type(p, o + 5, kind)


def walk_wifi(p, o, padded=False):
    control, sequence = p.number(o, 2, "little"), p.number(o + 22, 2, "little")
    data_frame = control & 0x0F == 0x08
    if not data_frame or control & 0x4040 or sequence & 15:
        raise StopWalkError
    size = 30 if control & 0x0300 == 0x0300 else 24
    aggregated = False
    if control & 0x80:
        aggregated = bool(p.number(o + size, 2, "little") & 0x80)
        size += 6 if control & 0x8000 else 2
    if padded:
        size += -size % 4
    return walk_llc(p, o + size + (14 if aggregated else 0))


def walk_radiotap(p, o):
    size = p.number(o + 2, 2, "little")
    if size < 8:
        raise StopWalkError
    present = p.number(o + 4, 4, "little") if o + 8 <= p.end else 0
    padded = False
    if present & 2:
        at, word = 8, present
        while word & 0x80000000 and o + at + 4 <= p.end:
            word = p.number(o + at, 4, "little")
            at += 4
        if present & 1:
            at += -at % 8 + 8
        padded = o + at < p.end and bool(p.data[o + at] & 0x20)
    return walk_wifi(p, o + size, padded)


def walk_token_ring(p, o):
    p.number(o, 14)
    if p.number(o + 1, 1) & 0xC0 != 0x40:
        raise StopWalkError
    routed = p.number(o + 8, 1) & 0x80
    return walk_llc(p, o + 14 + (p.number(o + 14, 1) & 0x1F if routed else 0))


def walk_fddi(p, o):
    p.number(o, 13)
    if p.number(o, 1) & 0xF0 != 0x50:
        raise StopWalkError
    return walk_llc(p, o + 13)


def walk_ppi(p, o):
    size, link = p.number(o + 2, 2, "little"), p.number(o + 4, 4, "little")
    if size < 8 or link not in (1, 105):
        raise StopWalkError
    return walk_ethernet(p, o + size) if link == 1 else walk_wifi(p, o + size)


def walk_avs(p, o):
    size = p.number(o + 4, 4)
    if size < 8:
        raise StopWalkError
    return walk_wifi(p, o + size)


def walk_pflog(p, o):
    size = (p.number(o, 1) + 3) & 0x1FC
    if size < 4:
        raise StopWalkError
    family = p.number(o + 1, 1)
    if o + size > p.end:
        raise StopWalkError
    return walk_family(p, o + size, family)


def walk_loop(p, o):
    return walk_family(p, o + 4, p.number(o, 4))


def walk_pppoe(p, o):
    return walk_type(p, o, 0x8864)


ERF_WALKS = {  # type: bytes between record header and packet, link type of the packet
    **dict.fromkeys((1, 10, 15, 19), (0, 50)),
    **dict.fromkeys((2, 11, 16, 20), (2, 1)),
    **dict.fromkeys((5, 17), (4, 50)),
    4: (4, 100),
    9: (8, 100),
    22: (0, 228),
    23: (0, 229),
}


def walk_erf(p, o):
    kind = p.number(o + 8, 1)
    p.number(o, 16)
    o += 16
    more = kind & 0x80
    while more:
        more = p.number(o, 1) & 0x80
        p.number(o, 8)
        o += 8
    if kind & 0x7F not in ERF_WALKS:
        raise StopWalkError
    skip, link = ERF_WALKS[kind & 0x7F]
    return WALKS[link](p, o + skip)


WALKS = {
    0: walk_null,
    1: walk_ethernet,
    6: walk_token_ring,
    9: walk_ppp_hdlc,
    10: walk_fddi,
    **dict.fromkeys((12, 14, 101, 228, 229), walk_ip),
    50: walk_ppp_hdlc,
    51: walk_pppoe,
    100: walk_llc,
    104: lambda p, o: walk_cooked(p, o, 4, 2),
    105: walk_wifi,
    107: walk_frame_relay,
    108: walk_loop,
    109: lambda p, o: walk_null(p, o, 12),
    113: lambda p, o: walk_cooked(p, o, 16, 14),
    117: walk_pflog,
    119: lambda p, o: walk_wifi(p, o + 144),
    127: walk_radiotap,
    138: lambda p, o: walk_cooked(p, o, 18, 16),
    163: walk_avs,
    166: lambda p, o: walk_ppp_hdlc(p, o + 1),
    192: walk_ppi,
    197: walk_erf,
    **dict.fromkeys((0xE704, 0xE709), lambda p, o: walk_llc(p, o + 4)),
    204: lambda p, o: walk_ppp_hdlc(p, o + 1),
    205: lambda p, o: walk_cooked(p, o, 5, 3),
    206: lambda p, o: walk_frame_relay(p, o + 1),
    219: walk_mpls,
    240: lambda p, o: walk_ethernet(p, o + 4),
    241: lambda p, o: walk_ethernet(p, o + 12),
    274: lambda p, o: walk_ethernet(p, o + 8),
    276: lambda p, o: walk_cooked(p, o, 20, 0),
}


def read_ipv4(row, p, o, on_wire):
    head = p.data[o : p.end]
    byte = lambda at: head[at] if at < len(head) else 0  # noqa: E731
    pair = lambda at: byte(at) << 8 | byte(at + 1) if at + 2 <= len(head) else 0  # noqa: E731
    row["flags"] = IPV4
    row["tos"], row["ttl"], row["ip_proto"] = byte(1), byte(8), byte(9)
    row["ident"], row["fragment"] = pair(4), pair(6)
    row["l3_length"] = (pair(2) if len(head) >= 4 else 0) or on_wire
    for name, at in (("src", 12), ("dst", 16)):
        row[name] = int.from_bytes(head[at : at + 4], "big") if len(head) >= at + 4 else 0
    row["flags"] |= DF if row["fragment"] & 0x4000 else 0
    row["flags"] |= FRAGMENT if row["fragment"] & 0x3FFF else 0
    row["flags"] |= NONFIRST if row["fragment"] & 0x1FFF else 0
    row["flags"] |= HEADER if len(head) >= 20 else 0
    if not head:
        row["flags"] |= UNVERIFIED
        return
    size = 4 * (head[0] & 15)
    if head[0] >> 4 != 4 or size < 20:
        row["flags"] |= MALFORMED | BAD
        return
    row["l4_offset"] = o + size
    row["flags"] |= OPTIONS if size > 20 else 0
    if len(head) < size:
        row["flags"] |= UNVERIFIED
    else:
        total = sum(struct.unpack(f">{size // 2}H", head[:size]))
        row["flags"] |= GOOD if total % 0xFFFF == 0 and total else BAD
    if len(head) >= 4 and not size <= row["l3_length"] <= on_wire:
        row["flags"] |= MALFORMED


def read_ipv6(row, p, o, on_wire):
    head = p.data[o : p.end]
    row["flags"] = IPV6
    if len(head) >= 6:
        payload = int.from_bytes(head[4:6], "big")
        row["l3_length"] = payload + 40 if payload else on_wire
        if payload and payload + 40 > on_wire:
            row["flags"] |= MALFORMED
    else:
        row["l3_length"] = on_wire
    if head and head[0] >> 4 != 6:
        row["flags"] |= MALFORMED
        return
    row["tos"] = int.from_bytes(head[:2], "big") >> 4 & 0xFF if len(head) >= 2 else 0
    row["ip_proto"] = head[6] if len(head) >= 7 else 0
    row["ttl"] = head[7] if len(head) >= 8 else 0
    if len(head) < 40:
        return
    row["flags"] |= HEADER
    row["v6"], row["label"] = bytes(head[8:40]), int.from_bytes(head[:4], "big") & 0xFFFFF
    at = 40
    while row["ip_proto"] in (0, 43, 44, 51, 60, 135, 139, 140) and not row["flags"] & NONFIRST:
        extension = head[at : at + 8]
        if len(extension) < 8:
            return
        kind, row["ip_proto"] = row["ip_proto"], extension[0]
        if kind == 44:
            word, row["ident"] = struct.unpack(">xxHI", extension)
            row["fragment"] = (word & 1) << 13 | word >> 3
            row["flags"] |= FRAGMENT if row["fragment"] else 0
            row["flags"] |= NONFIRST if word >> 3 else 0
            at += 8
        elif kind == 51:
            at += 4 * (extension[1] + 2)
        else:
            row["flags"] |= OPTIONS if kind != 43 else 0
            at += 8 * (extension[1] + 1)
    row["l4_offset"] = o + at


def read_transport(row, p, o):
    at = row["l4_offset"]
    if row["flags"] & NONFIRST or not row["flags"] & HEADER:
        return
    last = min(p.end, o + row["l3_length"])
    if row["ip_proto"] in (6, 17, 33, 132, 136) and at + 4 <= last:
        row["flags"] |= PORTS
        row["sport"], row["dport"] = struct.unpack(">HH", p.data[at : at + 4])
    if row["ip_proto"] == 6 and at + 14 <= last:
        row["tcp_flags"] = p.data[at + 13]


def decode(link, data, length):
    """Return a packet's header columns."""
    names = [
        "flags",
        "l3_length",
        "src",
        "dst",
        "sport",
        "dport",
        "ip_proto",
        "tos",
        "ttl",
        "ident",
        "fragment",
        "tcp_flags",
    ]
    row = dict.fromkeys(names, 0)
    row.update(l3_offset=NONE, l4_offset=NONE, v6=None, label=-1)
    p = Packet(data)
    try:
        if link not in WALKS:
            raise StopWalkError
        o, kind = WALKS[link](p, 0)
        if o > p.end or o >= NONE:
            raise StopWalkError
        row["l3_offset"] = o
        if kind == 0x0800 and o < p.end and data[o] >> 4 == 6:
            kind = 0x86DD
        if kind == 0x0800:
            read_ipv4(row, p, o, max(0, length - o))
        elif kind == 0x86DD:
            read_ipv6(row, p, o, max(0, length - o))
        elif kind == 0x0806:
            row["flags"] = ARP
        if row["l4_offset"] >= NONE:
            row["l4_offset"] = NONE
        else:
            read_transport(row, p, o)
    except StopWalkError:
        pass
    row["vlans"], row["labels"], row["tags"] = min(255, p.vlans), min(255, p.labels), p.tags
    return row


def read(data):
    """Return (packets, offset of the damage or None); raises UnreadableError for what is no capture."""
    if data[:4] == b"\x0a\x0d\x0d\x0a":
        return read_pcapng(data)
    return read_erf(data) if starts_as_erf(data) else read_pcap(data)


def record(packets, time, length, link, data, at, kept, number):
    row = {"t_ns": time, "length": length, "captured": kept, "position": at, "interface": number}
    packets.append(row | decode(link, data[at : at + kept], length))


PCAP_KINDS = {
    0xA1B2C3D4: (24, 16, 1000),
    0xA1B23C4D: (24, 16, 1),
    0xA1B2CD34: (24, 24, 1000),
    0x1C0001AC: (28, 16, 1000),
    0x1C0001AB: (28, 16, 1000),
}


def read_pcap(data):
    for order in "<>":
        if len(data) >= 4 and struct.unpack(order + "I", data[:4])[0] in PCAP_KINDS:
            break
    else:
        raise UnreadableError
    at, head, tick = PCAP_KINDS[struct.unpack(order + "I", data[:4])[0]]
    if len(data) < at:
        return [], 0
    major, minor = struct.unpack(order + "HH", data[4:8])
    if major != 2 and (major, minor) != (543, 0):
        raise UnreadableError
    link = struct.unpack(order + "I", data[20:24])[0] & 0xFFFF
    packets = []
    while at < len(data):
        if at + head > len(data):
            return packets, at
        seconds, fraction, kept, length = struct.unpack(order + "IIII", data[at : at + 16])
        if data[at : at + 16] == data[:8] + bytes(8):  # the header of another file
            return packets, at
        if major == 543 or minor < 3 or (minor == 3 and kept > length):
            kept, length = length, kept
        if kept > LIMITS.get(link, 262144) or at + head + kept > len(data):
            return packets, at
        record(packets, seconds * 10**9 + fraction * tick, length, link, data, at + head, kept, 0)
        at += head + kept
    return packets, None


def read_pcapng(data):
    packets, interfaces, first, at, order = [], [], 0, 0, None
    while at < len(data):
        rest = len(data) - at
        if data[at : at + 4] == b"\x0a\x0d\x0d\x0a" and rest >= 12:
            if rest < 28:
                return packets, at
            orders = {b"\x4d\x3c\x2b\x1a": "<", b"\x1a\x2b\x3c\x4d": ">"}
            order = orders.get(data[at + 8 : at + 12])
            if order is None:
                return packets, at + 8
            total, *version = struct.unpack(order + "I4xHH", data[at + 4 : at + 16])
            if total < 28:
                return packets, at
            if version not in ([1, 0], [1, 2]):
                return packets, at + 12
            first = len(interfaces)
            kind = None
        else:
            if rest < 12:
                return packets, at
            kind, total = struct.unpack(order + "II", data[at : at + 8])
        padded = -(-total // 4) * 4
        least = {1: 20, 2: 32, 3: 16, 6: 32}.get(kind, 12)
        if total < least or padded > rest or (least > 12 and padded > 1 << 24):
            return packets, at
        if struct.unpack(order + "I", data[at + padded - 4 : at + padded])[0] != total:
            return packets, at
        if kind == 1:
            if len(interfaces) == 65536:
                return packets, at
            if (told := read_interface(data[at : at + padded], order)) is None:
                return packets, at
            interfaces.append(told)
        elif kind in (2, 3, 6):
            number = 0
            if kind != 3:
                number, low_number = struct.unpack(order + "I", data[at + 8 : at + 12])[0], data[at + 8 : at + 10]
                number = number if kind == 6 else struct.unpack(order + "H", low_number)[0]
            if number >= len(interfaces) - first:
                return packets, at
            link, snaplen, unit, offset = interfaces[first + number]
            if kind == 3:
                length, start, time = struct.unpack(order + "I", data[at + 8 : at + 12])[0], at + 12, NO_TIME
                kept = min(length, total - 16, *([snaplen] if snaplen else []))
            else:
                high, low, kept, length = struct.unpack(order + "IIII", data[at + 12 : at + 28])
                start = at + 28
                seconds, ns = divmod((high << 32 | low) * 10**9 // unit, 10**9)
                time = (seconds + offset) * 10**9 + ns
                if seconds >= 1 << 62 or abs(seconds + offset) > 9_223_372_035:
                    time = NO_TIME
            if kept > LIMITS.get(link, 262144) or start + kept > at + padded - 4:
                return packets, at
            record(packets, time, length, link, data, start, kept, first + number)
        at += padded
    return packets, None


def read_interface(block, order):
    """Link type, snaplen, ticks a second and offset; None for options that cannot be what they should."""
    link, snaplen = struct.unpack(order + "HxxI", block[8:16])
    options, rest, seen = {}, block[16:-4], []
    while rest:
        if len(rest) < 4:
            return None
        code, size = struct.unpack(order + "HH", rest[:4])
        if (code, size) == (0, 0):
            break
        if 4 + size > len(rest):
            return None
        options[code] = rest[4 : 4 + size]
        seen += [code] * (code in (9, 13, 14))
        if code in (9, 13, 14) and size != {9: 1, 13: 1, 14: 8}[code]:
            return None
        rest = rest[4 + -(-size // 4) * 4 :]
    if len(set(seen)) < len(seen):
        return None
    ticks = options.get(9, b"\6")[0]
    unit = 1 << (ticks & 127) if ticks & 128 else 10**ticks
    return link, snaplen, unit, struct.unpack(order + "q", options.get(14, bytes(8)))[0]


ERF_KNOWN = {*range(1, 26), 27, 28, 29, 48}
ERF_SUBHEADER = {**dict.fromkeys((2, 11, 16, 20), 2), **dict.fromkeys((5, 6, 7, 8, 9, 12, 17, 18), 4)}


def starts_as_erf(data):
    """At least one whole record that is no padding, and the first 3 all likely."""
    if any(data[:4] == struct.pack(order + "I", magic) for order in "<>" for magic in PCAP_KINDS):
        return False
    at, seconds, whole = 0, None, 0
    for _ in range(3):
        if at + 16 > len(data):
            break
        kind, size = data[at + 8] & 127, int.from_bytes(data[at + 10 : at + 12], "big")
        if kind not in ERF_KNOWN or size < 16 or (size == 16 and kind != 48):
            return False
        if kind != 48:
            now = int.from_bytes(data[at + 4 : at + 8], "little")
            if seconds is not None and not seconds - 2 < now <= seconds + 366 * 86400:
                return False
            seconds = now
        at += size
        if at > len(data):
            break
        whole += kind != 48
    return whole > 0


def read_erf(data):
    packets, interfaces, at = [], {}, 0
    while at < len(data):
        if at + 16 > len(data):
            return packets, at
        low, high, kind, flags = struct.unpack("<IIBB", data[at : at + 10])
        size, wire = int.from_bytes(data[at + 10 : at + 12], "big"), int.from_bytes(data[at + 14 : at + 16], "big")
        more, kind = kind & 0x80, kind & 0x7F
        if size < 16 or (size == 16 and kind != 48) or at + size > len(data):
            return packets, at
        if kind != 48:
            start = 16
            while more and start + 8 <= size:
                more = data[at + start] & 0x80
                start += 8
            start += ERF_SUBHEADER.get(kind, 0)
            if more or start > size:
                return packets, at
            number = interfaces.setdefault((kind, flags & 3), len(interfaces))
            time = high * 10**9 + (low * 10**9 * 2 + 2**32 >> 33)
            links = {1: 50, 2: 1, 5: 50, 10: 50, 11: 1, 15: 50, 16: 1, 17: 50, 19: 50, 20: 1, 22: 228, 23: 229}
            link = links.get(kind, 0xE700 + kind)
            record(packets, time, wire, link, data, at + start, min(wire, size - start), number)
        at += size
    return packets, None
