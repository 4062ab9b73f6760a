"""Decode packet headers into columns: link layer, tags, the outermost network layer, ports.

Each captured packet is walked from the first step of its link type (a row of `links`, made by packets/links/) through
VLAN tags (IEEE 802.1Q), MPLS (RFC 3032), LLC/SNAP (IEEE 802.2, RFC 1042), PPP (RFC 1661, 1662), PPPoE (RFC 2516), NSH
(RFC 8300), frame relay (RFC 2427) and 802.11 to IPv4 (RFC 791), IPv6 (RFC 8200) or something else. No byte beyond the captured length is
read; ports are never read from padding behind the IP packet.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from npexplore.jit import kernel

Array = NDArray[Any]

# steps of the walk: what the bytes at the current offset are
UNKNOWN, ETHERNET, ETHERTYPE_AT, IP, FAMILY_HOST, FAMILY_BIG, LLC, PPP, PPPOE, MPLS, FRAME_RELAY, IEEE80211, FDDI = (
    range(13)
)
ETHERTYPE, TOKEN_RING, PPI, PPP_HDLC, FAMILY_BYTE, ERF = 13, 14, 15, 16, 17, 18

# the layout of one row of `links`
STEP, SKIP_BYTES, LENGTH_AT, LENGTH_WIDTH, PROTOCOL_AT = 0, 1, 2, 3, 4

# bits of the column `flags`
IPV4, IPV6, ARP, CHECKSUM_GOOD, CHECKSUM_BAD, CHECKSUM_CUT, MALFORMED = 1, 2, 4, 8, 16, 32, 64
FRAGMENT, NONFIRST, DONT_FRAGMENT, OPTIONS, PORTS, HEADER = 128, 256, 512, 1024, 2048, 4096

NO_OFFSET = 0xFFFF
MAX_TAGS = 8
TAG_VLAN, TAG_MPLS = 1, 2


@kernel()
def _be16(b, o):
    return np.int64(b[o]) << 8 | np.int64(b[o + 1])


@kernel()
def _be32(b, o):
    return np.int64(b[o]) << 24 | np.int64(b[o + 1]) << 16 | np.int64(b[o + 2]) << 8 | np.int64(b[o + 3])


@kernel()
def _le16(b, o):
    return np.int64(b[o + 1]) << 8 | np.int64(b[o])


@kernel()
def _le32(b, o):
    return np.int64(b[o + 3]) << 24 | np.int64(b[o + 2]) << 16 | np.int64(b[o + 1]) << 8 | np.int64(b[o])


@kernel()
def _family(number):
    """Return the ethertype of a BSD, Linux, macOS or Windows address family; larger numbers are ethertypes already."""
    if number == 2:
        return 0x0800
    if number == 10 or number == 23 or number == 24 or number == 28 or number == 30:
        return 0x86DD
    return number if number > 1500 else 0


@kernel()
def _host_family(b, at):
    """Return the ethertype of 4 bytes in the capturing host's order, as tshark reads them.

    A family of 32 bits in either order, one of 16 bits in front (IRIX) or behind, or an ethertype behind.
    """
    low, high = _le32(b, at), _be32(b, at)
    if low == 0x0200 or low >> 16 == 2:
        return 0x0800
    if low <= 0xFFFF or high <= 0xFFFF:
        return _family(low if low <= 0xFFFF else high)
    return high & 0xFFFF if high & 0xFFFF > 1500 else 0


@kernel()
def _data_frame_bytes(b, o, end, padded):
    """Return the header bytes (IEEE 802.11 section 9.2.4) of a clear data frame that starts an LLC header, else 0."""
    if end - o < 24:
        return 0
    control = _le16(b, o)
    if control & 0x0F != 0x08 or control & 0x4000 or control & 0x40 or _le16(b, o + 22) & 0x0F:
        return 0
    size = 24
    if control & 0x0300 == 0x0300:
        size += 6
    if control & 0x80:
        if end - o < size + 2:
            return 0
        aggregated = b[o + size] & 0x80
        size += 2
        if control & 0x8000:
            size += 4
        if padded:
            size = (size + 3) & ~3
        if aggregated:
            size += 14
    elif padded:
        size = (size + 3) & ~3
    return size


@kernel()
def _radiotap_pads(b, o, end):
    """Tell whether radiotap's flags (field 1, bit 0x20) say that the 802.11 header is padded to 4 bytes."""
    if end - o < 8:
        return False
    present = _le32(b, o + 4)
    if present & 2 == 0:
        return False
    at = 8
    word = present
    while word & 0x80000000 and o + at + 4 <= end:
        word = _le32(b, o + at)
        at += 4
    if present & 1:
        at = ((at + 7) & ~7) + 8
    return o + at < end and b[o + at] & 0x20 != 0


@kernel()
def _ppp_protocol(protocol):
    if protocol == 0x21:
        return 0x0800
    if protocol == 0x57:
        return 0x86DD
    if protocol == 0x281:
        return 0x8847
    if protocol == 0x283:
        return 0x8848
    return 0


@kernel()
def decode_headers(
    b: Array, base: int, position: Array, captured: Array, length: Array, interface: Array, links: Array,
    tag_packet: Array, tag_kind: Array, tag_value: Array, v6_packet: Array, v6_address: Array, v6_label: Array,
    counts: Array,
    flags: Array, protocol: Array, l3_offset: Array, l4_offset: Array, l3_length: Array, src: Array, dst: Array,
    sport: Array, dport: Array, ip_proto: Array, tos: Array, ttl: Array, ident: Array, fragment: Array,
    tcp_flags: Array, vlans: Array, labels: Array,
) -> None:  # fmt: skip
    """Fill the columns of len(position) packets whose bytes are b[position - base:]; counts gets the side tables' rows.

    tag_packet needs MAX_TAGS rows a packet, v6_packet one; v6_address is uint8 (rows, 32): source, destination;
    v6_label the flow labels.
    """
    tags = 0
    sixes = 0
    for i in range(len(position)):
        start = position[i] - base
        end = start + np.int64(captured[i])
        row = interface[i]
        step = links[row, STEP]
        o = start
        et = 0
        nv = 0
        nm = 0
        pads = False
        flag = 0
        network = NO_OFFSET
        # bytes before the first step: a fixed number, or counted by a length field
        if links[row, LENGTH_WIDTH] != 0:
            at = o + links[row, LENGTH_AT]
            width = links[row, LENGTH_WIDTH]
            size = 0
            if width == 2 and at + 2 <= end:
                size = _le16(b, at)
            elif width == 4 and at + 4 <= end:
                size = _be32(b, at)
            elif width == 1 and at + 1 <= end:
                size = (np.int64(b[at]) + 3) & ~3
            if step == IEEE80211 and width == 2:
                pads = _radiotap_pads(b, o, end)
            if size < links[row, SKIP_BYTES]:
                step = UNKNOWN
            header = o
            o += size
        else:
            header = o
            o += links[row, SKIP_BYTES]
        # every turn consumes bytes or leaves a step that is never entered again, so the walk ends
        while True:
            if step == ETHERNET:
                if o + 14 > end:
                    break
                et = _be16(b, o + 12)
                o += 14
                if et > 1500:
                    step = ETHERTYPE
                elif o + 2 <= end and _be16(b, o) == 0xFFFF:
                    et = 0x8137
                    break
                else:
                    step = LLC
            elif step == ETHERTYPE:
                if et == 0x0800 or et == 0x86DD:
                    network = o - start
                    break
                if et == 0x8100 or et == 0x88A8 or et == 0x9100:
                    if o + 4 > end:
                        break
                    if nv + nm < MAX_TAGS:
                        tag_packet[tags] = i
                        tag_kind[tags] = TAG_VLAN
                        tag_value[tags] = et << 16 | _be16(b, o)
                        tags += 1
                    nv += 1
                    et = _be16(b, o + 2)
                    o += 4
                    if et <= 1500:
                        step = LLC
                elif et == 0x8847 or et == 0x8848:
                    step = MPLS
                elif et == 0x8864:
                    step = PPPOE
                elif et == 0x8870:
                    step = LLC
                elif et == 0x88E5:
                    # MACsec's tag (IEEE 802.1AE section 9.3): version, ES, SC, SCB, E, C, AN | SL | PN | SCI if SC
                    if o + 8 > end or b[o] & 0x0C != 0:  # encrypted or changed: nothing behind it can be read
                        break
                    size = 14 if b[o] & 0x20 else 6
                    if o + size + 2 > end:
                        break
                    et = _be16(b, o + size)
                    o += size + 2
                elif et == 0x894F:
                    # version, flags, TTL, length in words | MD type | next protocol; a header of another version, or
                    # whose length its type cannot have, is not known (RFC 8300 sections 2.2 to 2.5)
                    if o + 8 > end:
                        break
                    size = (_be16(b, o) & 63) * 4
                    if b[o] >> 6 or size < 8 or (b[o + 2] & 15 == 1 and size != 24):
                        break
                    inner = b[o + 3]
                    o += size
                    if inner == 1:
                        et = 0x0800
                    elif inner == 2:
                        et = 0x86DD
                    elif inner == 3:
                        step = ETHERNET
                    elif inner == 5:
                        et = 0x8847
                    elif inner != 4:
                        break
                else:
                    network = o - start
                    break
            elif step == MPLS:
                if o + 4 > end:
                    break
                entry = _be32(b, o)
                if nv + nm < MAX_TAGS:
                    tag_packet[tags] = i
                    tag_kind[tags] = TAG_MPLS
                    tag_value[tags] = entry
                    tags += 1
                nm += 1
                o += 4
                if entry & 0x100:
                    # below labels 13 (RFC 5586) and 14 (RFC 3429) there is management; a first nibble of 0 is the
                    # control word of an Ethernet pseudowire (RFC 4448 section 4.6, RFC 4385)
                    label = entry >> 12
                    if label == 13 or label == 14:
                        break
                    step = IP
                    if o + 4 <= end and b[o] >> 4 == 0:
                        o += 4
                        step = ETHERNET
            elif step == IP:
                if o + 1 > end:
                    break
                version = b[o] >> 4
                et = 0
                if version == 4:
                    et = 0x0800
                elif version == 6:
                    et = 0x86DD
                else:
                    break
                step = ETHERTYPE
            elif step == LLC:
                if o + 3 > end:
                    break
                sap = _be16(b, o)
                if sap == 0xAAAA and b[o + 2] == 3:
                    if o + 8 > end:
                        break
                    oui = np.int64(b[o + 3]) << 16 | _be16(b, o + 4)
                    et = _be16(b, o + 6)
                    o += 8
                    if oui != 0 and oui != 0xF8:
                        et = 0
                        break
                    step = ETHERTYPE
                    if et <= 1500:
                        et = 0
                        break
                elif sap == 0x0606 and b[o + 2] == 3:
                    et = 0x0800
                    o += 3
                    step = ETHERTYPE
                else:
                    et = sap >> 8
                    break
            elif step == ETHERTYPE_AT:
                at = header + links[row, PROTOCOL_AT]
                if at + 2 > end or o > end:
                    break
                et = _be16(b, at)
                step = ETHERTYPE
                if et <= 1500:
                    step = UNKNOWN
                    if et == 4:
                        step = LLC
            elif step == PPP or step == PPP_HDLC:
                if o + 2 > end:
                    break
                if step == PPP_HDLC and (b[o] == 0x0F or b[o] == 0x8F):
                    if o + 4 > end:
                        break
                    et = _be16(b, o + 2)
                    o += 4
                    step = ETHERTYPE
                    continue
                if b[o] == 0xFF and b[o + 1] == 0x03:
                    o += 2
                if o + 1 > end:
                    break
                number = np.int64(b[o])
                if number & 1:
                    o += 1
                elif o + 2 > end:
                    break
                else:
                    number = _be16(b, o)
                    o += 2
                et = _ppp_protocol(number)
                if et == 0:
                    break
                step = ETHERTYPE
            elif step == PPPOE:
                if o + 6 > end or b[o + 1] != 0:
                    break
                o += 6
                step = PPP
            elif step == FAMILY_HOST or step == FAMILY_BIG:
                at = header + links[row, PROTOCOL_AT]
                if at + 4 > end or o > end:
                    break
                et = _host_family(b, at) if step == FAMILY_HOST else _family(_be32(b, at))
                step = ETHERTYPE if et else UNKNOWN
            elif step == FAMILY_BYTE:
                at = header + links[row, PROTOCOL_AT]
                if at + 1 > end or o > end:
                    break
                et = _family(np.int64(b[at]))
                step = ETHERTYPE if et else UNKNOWN
            elif step == FRAME_RELAY:
                # Q.922 address of 2 to 4 bytes, the last with its low bit set; then UI + NLPID, or a Cisco ethertype
                size = 2
                while size <= 4 and o + size <= end and b[o + size - 1] & 1 == 0:
                    size += 1
                if size > 4 or o + size + 2 > end:
                    break
                o += size
                if b[o] != 3:
                    et = _be16(b, o)
                    o += 2
                    step = ETHERTYPE if et > 1500 else UNKNOWN
                else:
                    o += 1
                    if b[o] == 0:
                        o += 1
                        if o + 1 > end:
                            break
                    nlpid = b[o]
                    o += 1
                    step = ETHERTYPE
                    if nlpid == 0xCC:
                        et = 0x0800
                    elif nlpid == 0x8E:
                        et = 0x86DD
                    elif nlpid == 0x80 and o + 5 <= end:
                        oui = np.int64(b[o]) << 16 | _be16(b, o + 1)
                        et = _be16(b, o + 3)
                        o += 5
                        if oui == 0x80C2 and (et == 1 or et == 7):
                            step = ETHERNET
                            if et == 1:
                                end = max(o, end - 4)
                        elif oui != 0 or et <= 1500:
                            et = 0
                            break
                    else:
                        break
            elif step == FDDI:
                if o + 13 > end or b[o] & 0xF0 != 0x50:
                    break
                o += 13
                step = LLC
            elif step == TOKEN_RING:
                if o + 14 > end or b[o + 1] & 0xC0 != 0x40:
                    break
                size = 14
                if b[o + 8] & 0x80:
                    if o + 15 > end:
                        break
                    size += b[o + 14] & 0x1F
                o += size
                step = LLC
            elif step == IEEE80211:
                if o > end:
                    break
                size = _data_frame_bytes(b, o, end, pads)
                if size == 0:
                    break
                o += size
                step = LLC
            elif step == PPI:
                # the header says by a link type of its own what follows
                if header + 8 > end or o > end:
                    break
                number = _le32(b, header + 4)
                if number == 1:
                    step = ETHERNET
                elif number == 105:
                    step = IEEE80211
                else:
                    break
            elif step == ERF:
                # a record of Endace's (packets/erf.py): headers, extension headers, what some types put in front
                if o + 16 > end:
                    break
                number = np.int64(b[o + 8]) & 0x7F
                more = b[o + 8] & 0x80
                o += 16
                while more and o + 8 <= end:
                    more = b[o] & 0x80
                    o += 8
                if more:
                    break
                if number == 2 or number == 11 or number == 16 or number == 20:
                    o += 2
                    step = ETHERNET
                elif number == 1 or number == 10 or number == 15 or number == 19:
                    step = PPP_HDLC
                elif number == 5 or number == 17:
                    o += 4
                    step = PPP_HDLC
                elif number == 4:
                    o += 4
                    step = LLC
                elif number == 9:
                    o += 8
                    step = LLC
                elif number == 22 or number == 23:
                    step = IP
                else:
                    break
            else:
                break
        if network >= NO_OFFSET or o > end:
            network = NO_OFFSET
        protocol[i] = et
        vlans[i] = min(nv, 255)
        labels[i] = min(nm, 255)
        l3_offset[i] = network
        source = 0
        destination = 0
        source_port = 0
        destination_port = 0
        next_proto = 0
        service = 0
        hops = 0
        number = 0
        piece = 0
        transport = NO_OFFSET
        total = np.int64(0)
        control = 0
        if network != NO_OFFSET:
            have = end - o
            on_wire = max(0, np.int64(length[i]) - network)
            header_size = 0
            if et == 0x0800 and have >= 1 and b[o] >> 4 == 6:
                et = 0x86DD
            if et == 0x0800:
                flag = IPV4
                total = on_wire
                if have >= 20:
                    flag |= HEADER
                    service = np.int64(b[o + 1])
                    total = _be16(b, o + 2)
                    number = _be16(b, o + 4)
                    piece = _be16(b, o + 6)
                    hops = np.int64(b[o + 8])
                    next_proto = np.int64(b[o + 9])
                    source = _be32(b, o + 12)
                    destination = _be32(b, o + 16)
                else:
                    if have >= 2:
                        service = np.int64(b[o + 1])
                    if have >= 4:
                        total = _be16(b, o + 2)
                    if have >= 6:
                        number = _be16(b, o + 4)
                    if have >= 8:
                        piece = _be16(b, o + 6)
                    if have >= 9:
                        hops = np.int64(b[o + 8])
                    if have >= 10:
                        next_proto = np.int64(b[o + 9])
                    if have >= 16:
                        source = _be32(b, o + 12)
                if total == 0:
                    total = on_wire
                if have >= 1:
                    header_size = (np.int64(b[o]) & 15) * 4
                if piece & 0x4000:
                    flag |= DONT_FRAGMENT
                if piece & 0x3FFF:
                    flag |= FRAGMENT
                    if piece & 0x1FFF:
                        flag |= NONFIRST
                if have >= 1 and (header_size < 20 or b[o] >> 4 != 4):
                    flag |= MALFORMED | CHECKSUM_BAD
                    header_size = 0
                else:
                    if header_size > 20:
                        flag |= OPTIONS
                    if have < max(header_size, 20):
                        flag |= CHECKSUM_CUT
                    else:
                        s = 0
                        for k in range(0, header_size, 4):
                            s += _be32(b, o + k)
                        s = (s & 0xFFFF) + (s >> 16 & 0xFFFF) + (s >> 32)
                        s = (s & 0xFFFF) + (s >> 16)
                        s = (s & 0xFFFF) + (s >> 16)
                        if s == 0xFFFF:
                            flag |= CHECKSUM_GOOD
                        else:
                            flag |= CHECKSUM_BAD
                    if have >= 4 and (total < header_size or total > on_wire):
                        flag |= MALFORMED
                    if header_size >= 20 and network + header_size < NO_OFFSET:
                        transport = network + header_size
            elif et == 0x86DD:
                flag = IPV6
                total = on_wire
                if have >= 6:
                    total = _be16(b, o + 4)
                    if total == 0:
                        total = on_wire
                    else:
                        total += 40
                        if total > on_wire:
                            flag |= MALFORMED
                if have >= 1 and b[o] >> 4 != 6:
                    flag |= MALFORMED
                elif have >= 40:
                    flag |= HEADER
                    service = _be16(b, o) >> 4 & 0xFF
                    next_proto = np.int64(b[o + 6])
                    hops = np.int64(b[o + 7])
                    v6_packet[sixes] = i
                    v6_label[sixes] = _be32(b, o) & 0xFFFFF
                    for k in range(32):
                        v6_address[sixes, k] = b[o + 8 + k]
                    sixes += 1
                    at = o + 40
                    cut = False
                    while True:
                        if not (
                            next_proto == 0
                            or next_proto == 43
                            or next_proto == 44
                            or next_proto == 51
                            or next_proto == 60
                            or next_proto == 135
                            or next_proto == 139
                            or next_proto == 140
                        ):
                            break
                        if flag & NONFIRST:
                            break
                        if at + 8 > end:
                            cut = True
                            break
                        following = np.int64(b[at])
                        if next_proto == 44:
                            word = _be16(b, at + 2)
                            piece = (word & 1) << 13 | word >> 3
                            number = _be32(b, at + 4)
                            if piece:
                                flag |= FRAGMENT
                            if piece & 0x1FFF:
                                flag |= NONFIRST
                            at += 8
                        elif next_proto == 51:
                            at += (np.int64(b[at + 1]) + 2) * 4
                        else:
                            if next_proto != 43:
                                flag |= OPTIONS
                            at += (np.int64(b[at + 1]) + 1) * 8
                        next_proto = following
                    if not cut and at - start < NO_OFFSET:
                        transport = at - start
                else:
                    if have >= 2:
                        service = _be16(b, o) >> 4 & 0xFF
                    if have >= 7:
                        next_proto = np.int64(b[o + 6])
                    if have >= 8:
                        hops = np.int64(b[o + 7])
            elif et == 0x0806:
                flag = ARP
            if transport != NO_OFFSET and flag & HEADER and not flag & NONFIRST:
                at = start + transport
                last = min(end, o + total)
                if next_proto == 6 or next_proto == 17 or next_proto == 132 or next_proto == 33 or next_proto == 136:
                    if at + 4 <= last:
                        flag |= PORTS
                        source_port = _be16(b, at)
                        destination_port = _be16(b, at + 2)
                    if next_proto == 6 and at + 14 <= last:
                        control = np.int64(b[at + 13])
        flags[i] = flag
        l4_offset[i] = transport
        l3_length[i] = total
        src[i] = source
        dst[i] = destination
        sport[i] = source_port
        dport[i] = destination_port
        ip_proto[i] = next_proto
        tos[i] = service
        ttl[i] = hops
        ident[i] = number
        fragment[i] = piece
        tcp_flags[i] = control
    counts[0] = tags
    counts[1] = sixes
