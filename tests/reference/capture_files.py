"""Capture files and packets made byte by byte with struct, for tests of the reader; nothing of the package is used."""

import struct

US, NS, MODIFIED, IXIA_HW, IXIA_SW = 0xA1B2C3D4, 0xA1B23C4D, 0xA1B2CD34, 0x1C0001AC, 0x1C0001AB


def pcap_header(magic=US, order="<", version=(2, 4), link=1, snaplen=65535):
    header = struct.pack(order + "IHHiIII", magic, *version, 0, 0, snaplen, link)
    return header + (struct.pack(order + "I", 0) if magic in (IXIA_HW, IXIA_SW) else b"")


def pcap(records, magic=US, order="<", version=(2, 4), link=1, snaplen=65535):
    """records: (seconds, fraction, data, original length or None)."""
    out = [pcap_header(magic, order, version, link, snaplen)]
    for seconds, fraction, data, original in records:
        lengths = [len(data), len(data) if original is None else original]
        if version < (2, 3) or version == (543, 0):
            lengths.reverse()
        out.append(struct.pack(order + "IIII", seconds, fraction, *lengths))
        if magic == MODIFIED:
            out.append(struct.pack(order + "IHBB", 3, 0x0800, 0, 0))
        out.append(data)
    return b"".join(out)


def block(kind, body, order="<"):
    body += bytes(-len(body) % 4)
    return struct.pack(order + "II", kind, len(body) + 12) + body + struct.pack(order + "I", len(body) + 12)


def option(code, value, order="<"):
    return struct.pack(order + "HH", code, len(value)) + value + bytes(-len(value) % 4)


def section(order="<", version=(1, 0), options=b""):
    return block(0x0A0D0D0A, struct.pack(order + "IHHq", 0x1A2B3C4D, *version, -1) + options, order)


def interface(order="<", link=1, snaplen=0, resolution=None, offset=None, fcs=None, name=None):
    options = b""
    if name is not None:
        options += option(2, name, order)
    if resolution is not None:
        options += option(9, bytes([resolution]), order)
    if fcs is not None:
        options += option(13, bytes([fcs]), order)
    if offset is not None:
        options += option(14, struct.pack(order + "q", offset), order)
    if options:
        options += option(0, b"", order)
    return block(1, struct.pack(order + "HHI", link, 0, snaplen) + options, order)


def enhanced(data, ticks=0, number=0, original=None, order="<", options=b""):
    original = len(data) if original is None else original
    head = struct.pack(order + "IIIII", number, ticks >> 32, ticks & 0xFFFFFFFF, len(data), original)
    return block(6, head + data + bytes(-len(data) % 4) + options, order)


def simple(data, original=None, order="<"):
    return block(3, struct.pack(order + "I", len(data) if original is None else original) + data, order)


def obsolete(data, ticks=0, number=0, original=None, order="<"):
    original = len(data) if original is None else original
    head = struct.pack(order + "HHIIII", number, 7, ticks >> 32, ticks & 0xFFFFFFFF, len(data), original)
    return block(2, head + data, order)


def erf(kind, data, ticks=0, port=0, wire=None, extensions=0, pad=0, flags=4):
    """A record of Endace's: ticks of 2^-32 s; data with the subheader of its type."""
    more = b"".join(bytes([0x80 if left else 0x03]) + bytes(7) for left in reversed(range(extensions)))
    size = 16 + len(more) + len(data) + pad
    kind |= 0x80 if extensions else 0
    head = struct.pack("<Q", ticks) + struct.pack(
        ">BBHHH", kind, flags | port, size, 0, len(data) if wire is None else wire
    )
    return head + more + data + bytes(pad)


def checksum(data):
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return 0xFFFF - total


def ipv4(
    payload=b"", proto=17, ttl=64, tos=0, ident=1, fragment=0, options=b"", src=0x0A000001, dst=0x0A000002, bad=False
):
    ihl = 5 + len(options) // 4
    head = struct.pack(">BBHHHBBHII", 0x40 | ihl, tos, 4 * ihl + len(payload), ident, fragment, ttl, proto, 0, src, dst)
    head += options
    value = checksum(head) ^ bad
    return head[:10] + struct.pack(">H", value) + head[12:] + payload


def ipv6(
    payload=b"", following=17, hops=64, traffic_class=0, src=bytes(15) + b"\1", dst=bytes(15) + b"\2", label=0x12345
):
    return (
        struct.pack(">IHBB", 6 << 28 | traffic_class << 20 | label, len(payload), following, hops) + src + dst + payload
    )


def udp(sport=1000, dport=2000, payload=b""):
    return struct.pack(">HHHH", sport, dport, 8 + len(payload), 0) + payload


def tcp(sport=1000, dport=80, flags=0x12, payload=b""):
    return struct.pack(">HHIIBBHHH", sport, dport, 1, 2, 0x50, flags, 1000, 0, 0) + payload


def ethernet(payload, kind=0x0800, tags=(), pad=0):
    """tags: (ethertype, control information) outermost first."""
    out = bytes(range(12))
    for tpid, tci in tags:
        out += struct.pack(">HH", tpid, tci)
    return out + struct.pack(">H", kind) + payload + bytes(max(0, pad - len(out) - 2 - len(payload)))


def llc_snap(payload, kind=0x0800, oui=0):
    return b"\xaa\xaa\x03" + oui.to_bytes(3, "big") + struct.pack(">H", kind) + payload


def mpls(payload, *labels, ttl=64):
    entries = [label << 12 | (index == len(labels) - 1) << 8 | ttl for index, label in enumerate(labels)]
    return struct.pack(f">{len(labels)}I", *entries) + payload


def pppoe(payload, protocol=0x0021, code=0):
    body = struct.pack(">H", protocol) + payload
    return struct.pack(">BBHH", 0x11, code, 1, len(body)) + body


def nsh(payload, following=1, kind=2, context=b"", words=None, version=0):
    """A network service header (RFC 8300): its length in words is what it is unless `words` says another."""
    words = 2 + len(context) // 4 if words is None else words
    return struct.pack(">HBBI", version << 14 | 63 << 6 | words, kind, following, 0xFF) + context + payload


def radiotap(payload, flags=None):
    if flags is None:
        return struct.pack("<BBHI", 0, 0, 8, 0) + payload
    return struct.pack("<BBHIQB", 0, 0, 17, 3, 0, flags) + payload


def wifi_data(payload, qos=False, four_addresses=False, protected=False, fragment=0, order=False, aggregated=False):
    control = 0x08 | (0x80 if qos else 0) | (0x0300 if four_addresses else 0x0100)
    control |= (0x4000 if protected else 0) | (0x8000 if order else 0)
    out = struct.pack("<HH", control, 0) + bytes(18) + struct.pack("<H", fragment)
    out += bytes(6) if four_addresses else b""
    if qos:
        out += struct.pack("<H", 0x80 if aggregated else 0) + (bytes(4) if order else b"")
    return out + payload
