"""What stands in front of a network layer: a header, step by step. Each function returns the next step and its ethertype.

LLC/SNAP (IEEE 802.2, RFC 1042), PPP (RFC 1661, 1662), PPPoE (RFC 2516), NSH (RFC 8300), MACsec (IEEE 802.1AE), frame
relay (RFC 2427), 802.11, FDDI, token ring, ERF. `o` is the offset of the next byte, `end` the first that is not
captured; STOP leaves the ethertype as far as it is known.
"""

import numpy as np

from npexplore._kernels.capture_layout import *
from npexplore._kernels.capture_layout import _be16, _be32, _le16, _le32
from npexplore.jit import kernel


@kernel(_nrt=False)
def _family(number):
    """Return the ethertype of a BSD, Linux, macOS or Windows address family; larger numbers are ethertypes already."""
    if number == 2:
        return 0x0800
    if number == 10 or number == 23 or number == 24 or number == 28 or number == 30:
        return 0x86DD
    return number if number > 1500 else 0


@kernel(_nrt=False)
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


@kernel(_nrt=False)
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


@kernel(_nrt=False)
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


@kernel(_nrt=False)
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


@kernel(forceinline=True, _nrt=False)
def _ethernet(b, o, end, et):
    if o + 14 > end:
        return STOP, o, et
    et = _be16(b, o + 12)
    o += 14
    if et > 1500:
        return ETHERTYPE, o, et
    if o + 2 <= end and _be16(b, o) == 0xFFFF:
        return STOP, o, np.int64(0x8137)
    return LLC, o, et


@kernel(_nrt=False)
def _macsec(b, o, end, et):
    """Pass MACsec's tag (IEEE 802.1AE section 9.3): version, ES, SC, SCB, E, C, AN | SL | PN | SCI if SC."""
    if o + 8 > end or b[o] & 0x0C != 0:  # encrypted or changed: nothing behind it can be read
        return STOP, o, et
    size = 14 if b[o] & 0x20 else 6
    if o + size + 2 > end:
        return STOP, o, et
    return ETHERTYPE, o + size + 2, _be16(b, o + size)


@kernel(_nrt=False)
def _service_header(b, o, end, et):
    """Pass an NSH: version, flags, TTL, length in words | MD type | next protocol.

    A header of another version, or whose length its type cannot have, is not known (RFC 8300 sections 2.2 to 2.5).
    """
    if o + 8 > end:
        return STOP, o, et
    size = (_be16(b, o) & 63) * 4
    if b[o] >> 6 or size < 8 or (b[o + 2] & 15 == 1 and size != 24):
        return STOP, o, et
    inner = b[o + 3]
    o += size
    if inner == 1:
        return ETHERTYPE, o, np.int64(0x0800)
    if inner == 2:
        return ETHERTYPE, o, np.int64(0x86DD)
    if inner == 3:
        return ETHERNET, o, et
    if inner == 5:
        return ETHERTYPE, o, np.int64(0x8847)
    return ETHERTYPE if inner == 4 else STOP, o, et


@kernel(_nrt=False)
def _ip_version(b, o, end, et):
    if o + 1 > end:
        return STOP, o, et
    version = b[o] >> 4
    if version == 4:
        return ETHERTYPE, o, np.int64(0x0800)
    if version == 6:
        return ETHERTYPE, o, np.int64(0x86DD)
    return STOP, o, np.int64(0)


@kernel(_nrt=False)
def _llc(b, o, end, et):
    if o + 3 > end:
        return STOP, o, et
    sap = _be16(b, o)
    if sap == 0xAAAA and b[o + 2] == 3:
        if o + 8 > end:
            return STOP, o, et
        oui = np.int64(b[o + 3]) << 16 | _be16(b, o + 4)
        et = _be16(b, o + 6)
        o += 8
        if (oui != 0 and oui != 0xF8) or et <= 1500:
            return STOP, o, np.int64(0)
        return ETHERTYPE, o, et
    if sap == 0x0606 and b[o + 2] == 3:
        return ETHERTYPE, o + 3, np.int64(0x0800)
    return STOP, o, sap >> 8


@kernel(_nrt=False)
def _ppp(b, o, end, et, hdlc):
    if o + 2 > end:
        return STOP, o, et
    if hdlc and (b[o] == 0x0F or b[o] == 0x8F):
        if o + 4 > end:
            return STOP, o, et
        return ETHERTYPE, o + 4, _be16(b, o + 2)
    if b[o] == 0xFF and b[o + 1] == 0x03:
        o += 2
    if o + 1 > end:
        return STOP, o, et
    number = np.int64(b[o])
    if number & 1:
        o += 1
    elif o + 2 > end:
        return STOP, o, et
    else:
        number = _be16(b, o)
        o += 2
    et = _ppp_protocol(number)
    return ETHERTYPE if et else STOP, o, et


@kernel(_nrt=False)
def _protocol_at(step, b, o, end, et, at):
    """Read what follows from a field in front: an ethertype, or the address family of the capturing host."""
    if at + (2 if step == ETHERTYPE_AT else 1 if step == FAMILY_BYTE else 4) > end or o > end:
        return STOP, o, et
    if step == ETHERTYPE_AT:
        et = _be16(b, at)
        return ETHERTYPE if et > 1500 else LLC if et == 4 else STOP, o, et
    if step == FAMILY_HOST:
        et = _host_family(b, at)
    else:
        et = _family(_be32(b, at) if step == FAMILY_BIG else np.int64(b[at]))
    return ETHERTYPE if et else STOP, o, et


@kernel(_nrt=False)
def _frame_relay(b, o, end, et):
    """Pass a Q.922 address of 2 to 4 bytes, the last with its low bit set; then UI + NLPID, or a Cisco ethertype.

    Returns the end of the frame inside as well: a bridged Ethernet frame may have its check sequence behind it.
    """
    size = 2
    while size <= 4 and o + size <= end and b[o + size - 1] & 1 == 0:
        size += 1
    if size > 4 or o + size + 2 > end:
        return STOP, o, et, end
    o += size
    if b[o] != 3:
        et = _be16(b, o)
        return ETHERTYPE if et > 1500 else STOP, o + 2, et, end
    o += 1
    if b[o] == 0:
        o += 1
        if o + 1 > end:
            return STOP, o, et, end
    nlpid = b[o]
    o += 1
    if nlpid == 0xCC:
        return ETHERTYPE, o, np.int64(0x0800), end
    if nlpid == 0x8E:
        return ETHERTYPE, o, np.int64(0x86DD), end
    if nlpid != 0x80 or o + 5 > end:
        return STOP, o, et, end
    oui = np.int64(b[o]) << 16 | _be16(b, o + 1)
    et = _be16(b, o + 3)
    o += 5
    if oui == 0x80C2 and (et == 1 or et == 7):
        return ETHERNET, o, et, max(o, end - 4) if et == 1 else end
    if oui != 0 or et <= 1500:
        return STOP, o, np.int64(0), end
    return ETHERTYPE, o, et, end


@kernel(_nrt=False)
def _token_ring(b, o, end):
    if o + 14 > end or b[o + 1] & 0xC0 != 0x40:
        return STOP, o
    size = 14
    if b[o + 8] & 0x80:
        if o + 15 > end:
            return STOP, o
        size += b[o + 14] & 0x1F
    return LLC, o + size


@kernel(_nrt=False)
def _endace(b, o, end):
    """Pass a record of Endace's (packets/erf.py): headers, extension headers, what some types put in front."""
    if o + 16 > end:
        return STOP, o
    number = np.int64(b[o + 8]) & 0x7F
    more = b[o + 8] & 0x80
    o += 16
    while more and o + 8 <= end:
        more = b[o] & 0x80
        o += 8
    if more:
        return STOP, o
    if number == 2 or number == 11 or number == 16 or number == 20:
        return ETHERNET, o + 2
    if number == 1 or number == 10 or number == 15 or number == 19:
        return PPP_HDLC, o
    if number == 5 or number == 17:
        return PPP_HDLC, o + 4
    if number == 4:
        return LLC, o + 4
    if number == 9:
        return LLC, o + 8
    return IP if number == 22 or number == 23 else STOP, o


@kernel(_nrt=False)
def _rare_link(step, b, o, end, header, pads):
    """Pass a header that names no ethertype itself. header: where the packet begins; pads: 802.11 headers are padded."""
    if step == PPPOE:
        return (STOP, o) if o + 6 > end or b[o + 1] != 0 else (PPP, o + 6)
    if step == FDDI:
        return (STOP, o) if o + 13 > end or b[o] & 0xF0 != 0x50 else (LLC, o + 13)
    if step == TOKEN_RING:
        return _token_ring(b, o, end)
    if step == IEEE80211:
        size = _data_frame_bytes(b, o, end, pads) if o <= end else 0
        return LLC if size else STOP, o + size
    if step == PPI:  # the header says by a link type of its own what follows
        number = 0 if header + 8 > end or o > end else _le32(b, header + 4)
        return ETHERNET if number == 1 else IEEE80211 if number == 105 else STOP, o
    if step == ERF:
        return _endace(b, o, end)
    return STOP, o
