"""Decode packet headers into columns: link layer, tags, the outermost network layer, ports.

Each captured packet is walked from the first step of its link type (a row of `links`, made by packets/links/) through
VLAN tags (IEEE 802.1Q), MPLS (RFC 3032) and the headers of capture_links.py to IPv4, IPv6 (capture_network.py) or
something else. No byte beyond the captured length is read; ports are never read from padding behind the IP packet.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from npexplore._kernels.capture_layout import *
from npexplore._kernels.capture_layout import _be16, _be32, _le16
from npexplore._kernels.capture_links import (
    _ethernet,
    _frame_relay,
    _ip_version,
    _llc,
    _macsec,
    _ppp,
    _protocol_at,
    _radiotap_pads,
    _rare_link,
    _service_header,
)
from npexplore._kernels.capture_network import _ipv4, _ipv6, _ports
from npexplore.jit import kernel

Array = NDArray[Any]


@kernel(forceinline=True, _nrt=False)
def _begin(b, start, end, links, row):
    """Return the first step and where it stands: behind a fixed number of bytes, or one that a length field counts."""
    step, at, width = links[row, STEP], start + links[row, LENGTH_AT], links[row, LENGTH_WIDTH]
    if width == 0:
        return step, start + links[row, SKIP_BYTES], start, False
    size = 0
    if width == 2 and at + 2 <= end:
        size = _le16(b, at)
    elif width == 4 and at + 4 <= end:
        size = _be32(b, at)
    elif width == 1 and at + 1 <= end:
        size = (np.int64(b[at]) + 3) & ~3
    pads = False
    if step == IEEE80211 and width == 2:
        pads = _radiotap_pads(b, start, end)
    if size < links[row, SKIP_BYTES]:
        step = UNKNOWN
    return step, start + size, start, pads


@kernel(forceinline=True, _nrt=False)
def _network(b, i, start, o, end, network, et, length, sixes, headers, tables):
    """Fill the columns of the network layer and the ports of packet i; return how many rows of IPv6 there are now."""
    source, destination, source_port, destination_port, control = 0, 0, 0, 0, 0
    flag, total, transport = 0, np.int64(0), NO_OFFSET
    inner, service, hops, number, piece = 0, 0, 0, 0, 0
    on_wire = max(0, length - network)
    if network == NO_OFFSET:
        pass
    elif et == 0x86DD or (et == 0x0800 and o < end and b[o] >> 4 == 6):
        flag, total, transport, inner, service, hops, number, piece = _ipv6(b, o, end, network, on_wire)
        if flag & HEADER:
            tables.v6_packet[sixes] = i
            tables.v6_label[sixes] = _be32(b, o) & 0xFFFFF
            for k in range(32):
                tables.v6_address[sixes, k] = b[o + 8 + k]
            sixes += 1
    elif et == 0x0800:
        flag, total, transport, inner, service, hops, number, piece = _ipv4(b, o, end, network, on_wire)
        if o + 16 <= end:
            source = _be32(b, o + 12)
        if o + 20 <= end:
            destination = _be32(b, o + 16)
    elif et == 0x0806:
        flag = ARP
    if transport != NO_OFFSET and flag & HEADER and not flag & NONFIRST:
        last = min(end, o + total)
        there, source_port, destination_port, control = _ports(b, start + transport, last, inner)
        flag |= there
    headers.flags[i] = flag
    headers.l4_offset[i] = transport
    headers.l3_length[i] = total
    headers.src[i] = source
    headers.dst[i] = destination
    headers.sport[i] = source_port
    headers.dport[i] = destination_port
    headers.tcp_flags[i] = control
    headers.ip_proto[i] = inner
    headers.tos[i] = service
    headers.ttl[i] = hops
    headers.ident[i] = number
    headers.fragment[i] = piece
    return sixes


@kernel()
def decode_headers(b: Array, base: int, records: Any, links: Array, counts: Array, headers: Any, tables: Any) -> None:
    """Fill the columns of packets whose bytes are b[position - base:]; counts gets the rows of the side tables."""
    tags = 0
    sixes = 0
    for i in range(len(records.position)):
        start = records.position[i] - base
        end = start + np.int64(records.captured[i])
        row = records.interface[i]
        step, o, header, pads = _begin(b, start, end, links, row)
        et, nv, nm, network = 0, 0, 0, NO_OFFSET
        # every turn consumes bytes or leaves a step that is never entered again, so the walk ends
        while step != STOP:
            if step == ETHERNET:
                step, o, et = _ethernet(b, o, end, et)
            elif step == ETHERTYPE:
                if et == 0x0800 or et == 0x86DD:
                    network = o - start
                    break
                if et == 0x8100 or et == 0x88A8 or et == 0x9100:
                    if o + 4 > end:
                        break
                    if nv + nm < MAX_TAGS:
                        tables.tag_packet[tags] = i
                        tables.tag_kind[tags] = TAG_VLAN
                        tables.tag_value[tags] = et << 16 | _be16(b, o)
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
                    step, o, et = _macsec(b, o, end, et)
                elif et == 0x894F:
                    step, o, et = _service_header(b, o, end, et)
                else:
                    network = o - start
                    break
            elif step == MPLS:
                if o + 4 > end:
                    break
                entry = _be32(b, o)
                if nv + nm < MAX_TAGS:
                    tables.tag_packet[tags] = i
                    tables.tag_kind[tags] = TAG_MPLS
                    tables.tag_value[tags] = entry
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
                step, o, et = _ip_version(b, o, end, et)
            elif step == LLC:
                step, o, et = _llc(b, o, end, et)
            elif step == PPP or step == PPP_HDLC:
                step, o, et = _ppp(b, o, end, et, step == PPP_HDLC)
            elif step == FRAME_RELAY:
                step, o, et, end = _frame_relay(b, o, end, et)
            elif step == ETHERTYPE_AT or step == FAMILY_HOST or step == FAMILY_BIG or step == FAMILY_BYTE:
                step, o, et = _protocol_at(step, b, o, end, et, header + links[row, PROTOCOL_AT])
            else:
                step, o = _rare_link(step, b, o, end, header, pads)
        if network >= NO_OFFSET or o > end:
            network = NO_OFFSET
        headers.protocol[i] = et
        headers.vlans[i] = min(nv, 255)
        headers.labels[i] = min(nm, 255)
        headers.l3_offset[i] = network
        sixes = _network(b, i, start, o, end, network, et, np.int64(records.length[i]), sixes, headers, tables)
    counts[0] = tags
    counts[1] = sixes
