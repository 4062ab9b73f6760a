"""Names of the numbers that decoding headers works with, and how it reads them: steps, columns, flags, byte order."""

from collections import namedtuple

import numpy as np

from npexplore.jit import kernel

# steps of the walk: what the bytes at the current offset are
UNKNOWN, ETHERNET, ETHERTYPE_AT, IP, FAMILY_HOST, FAMILY_BIG, LLC, PPP, PPPOE, MPLS, FRAME_RELAY, IEEE80211, FDDI = (
    range(13)
)
ETHERTYPE, TOKEN_RING, PPI, PPP_HDLC, FAMILY_BYTE, ERF = 13, 14, 15, 16, 17, 18
STOP = -1  # the walk ends: what follows is cut, damaged or not known

# the layout of one row of `links`
STEP, SKIP_BYTES, LENGTH_AT, LENGTH_WIDTH, PROTOCOL_AT = 0, 1, 2, 3, 4

# bits of the column `flags`
IPV4, IPV6, ARP, CHECKSUM_GOOD, CHECKSUM_BAD, CHECKSUM_CUT, MALFORMED = 1, 2, 4, 8, 16, 32, 64
FRAGMENT, NONFIRST, DONT_FRAGMENT, OPTIONS, PORTS, HEADER = 128, 256, 512, 1024, 2048, 4096

NO_OFFSET = 0xFFFF
MAX_TAGS = 8
TAG_VLAN, TAG_MPLS = 1, 2

# ---- records of arrays, each with a number for every packet
Records = namedtuple("Records", ["position", "captured", "length", "interface"])
Headers = namedtuple("Headers", [
    "flags", "protocol", "l3_offset", "l4_offset", "l3_length", "src", "dst", "sport", "dport", "ip_proto", "tos",
    "ttl", "ident", "fragment", "tcp_flags", "vlans", "labels",
])  # fmt: skip
# of side tables, with room for MAX_TAGS tags a packet; v6_address: uint8 (rows, 32), source and destination
Tables = namedtuple("Tables", ["tag_packet", "tag_kind", "tag_value", "v6_packet", "v6_address", "v6_label"])


@kernel(_nrt=False)
def _be16(b, o):
    return np.int64(b[o]) << 8 | np.int64(b[o + 1])


@kernel(_nrt=False)
def _be32(b, o):
    return np.int64(b[o]) << 24 | np.int64(b[o + 1]) << 16 | np.int64(b[o + 2]) << 8 | np.int64(b[o + 3])


@kernel(_nrt=False)
def _le16(b, o):
    return np.int64(b[o + 1]) << 8 | np.int64(b[o])


@kernel(_nrt=False)
def _le32(b, o):
    return np.int64(b[o + 3]) << 24 | np.int64(b[o + 2]) << 16 | np.int64(b[o + 1]) << 8 | np.int64(b[o])
