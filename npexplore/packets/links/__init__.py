"""The table of link types: the kind of header that a capture's packets start with (www.tcpdump.org/linktypes.html)."""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from npexplore._kernels import capture_headers as steps
from npexplore.packets.erf import TYPES, own_link_type
from npexplore.packets.links.format import LinkFormat

_ATM_HEADER_BYTES = 4  # in front of reassembled AAL5, whose frames start with LLC (RFC 2684)
_AAL5 = {"AAL5", "MC_AAL5"}

FORMATS: tuple[LinkFormat, ...] = (
    # Ethernet: two addresses and a type or length (IEEE 802.3 clause 3), with or without its preamble in the capture.
    LinkFormat("ETHERNET", (1,), steps.ETHERNET),
    LinkFormat("ETHERNET_MPACKET", (274,), steps.ETHERNET, skip=8),
    LinkFormat("NETANALYZER", (240,), steps.ETHERNET, skip=4),
    LinkFormat("NETANALYZER_TRANSPARENT", (241,), steps.ETHERNET, skip=12),
    # No link header: the packet starts with IP, and its version field says which (RFC 791 section 3.1, RFC 8200).
    LinkFormat("RAW", (12, 14, 101), steps.IP),
    LinkFormat("IPV4", (228,), steps.IP),
    LinkFormat("IPV6", (229,), steps.IP),
    # BSD loopback interfaces: a 4-byte address family, in the capturing host's order (NULL) or network order (LOOP).
    # The headers of OpenBSD's encapsulation interface (12 bytes) and packet filter log hold the same field.
    LinkFormat("NULL", (0,), steps.FAMILY_HOST, skip=4),
    LinkFormat("LOOP", (108,), steps.FAMILY_BIG, skip=4),
    LinkFormat("ENC", (109,), steps.FAMILY_HOST, skip=12),
    LinkFormat("PFLOG", (117,), steps.FAMILY_BYTE, skip=4, length_at=0, length_width=1, protocol_at=1),
    # Linux cooked captures of device `any`: a made-up header with an ethertype, version 1 (16 bytes) and 2 (20 bytes).
    LinkFormat("LINUX_SLL", (113,), steps.ETHERTYPE_AT, skip=16, protocol_at=14),
    LinkFormat("LINUX_SLL2", (276,), steps.ETHERTYPE_AT, skip=20, protocol_at=0),
    # PPP (RFC 1661), with or without its ff 03 (RFC 1662), 1-byte protocols included; PPP over Ethernet. On a serial
    # line a first byte of 0f or 8f means Cisco HDLC (RFC 1547 section 4.3.1), whatever the link type says.
    LinkFormat("PPP", (9,), steps.PPP_HDLC),
    LinkFormat("PPP_HDLC", (50,), steps.PPP_HDLC),
    LinkFormat("PPP_ETHER", (51,), steps.PPPOE),
    LinkFormat("PPP_PPPD", (166,), steps.PPP_HDLC, skip=1),
    LinkFormat("PPP_WITH_DIR", (204,), steps.PPP_HDLC, skip=1),
    # Cisco HDLC: address, control, and an ethertype (RFC 1547 section 4.3.1).
    LinkFormat("C_HDLC", (104,), steps.ETHERTYPE_AT, skip=4, protocol_at=2),
    LinkFormat("C_HDLC_WITH_DIR", (205,), steps.ETHERTYPE_AT, skip=5, protocol_at=3),
    # Frame relay: a Q.922 address, then a network-layer protocol identifier (RFC 2427) or Cisco's ethertype.
    LinkFormat("FRELAY", (107,), steps.FRAME_RELAY),
    LinkFormat("FRELAY_WITH_DIR", (206,), steps.FRAME_RELAY, skip=1),
    # MPLS label stacks without a link header (RFC 3032); below the bottom label the IP version field decides.
    LinkFormat("MPLS", (219,), steps.MPLS),
    # 802.11 frames, bare or after the headers of radiotap, Prism, AVS and PPI; clear data frames go on to LLC.
    LinkFormat("IEEE802_11", (105,), steps.IEEE80211),
    LinkFormat("IEEE802_11_PRISM", (119,), steps.IEEE80211, skip=144),
    LinkFormat("IEEE802_11_RADIOTAP", (127,), steps.IEEE80211, skip=8, length_at=2, length_width=2),
    LinkFormat("IEEE802_11_AVS", (163,), steps.IEEE80211, skip=8, length_at=4, length_width=4),
    LinkFormat("PPI", (192,), steps.PPI, skip=8, length_at=2, length_width=2),
    # Other LANs with LLC (IEEE 802.2) and SNAP (RFC 1042): FDDI, token ring, ATM (RFC 2684), IP over FireWire.
    LinkFormat("FDDI", (10,), steps.FDDI),
    LinkFormat("IEEE802_5", (6,), steps.TOKEN_RING),
    LinkFormat("ATM_RFC1483", (100,), steps.LLC),
    LinkFormat("APPLE_IP_OVER_IEEE1394", (138,), steps.ETHERTYPE_AT, skip=18, protocol_at=16),
    # Endace's ERF: whole records inside another capture file, and the record types that have no other link type.
    LinkFormat("ERF", (197,), steps.ERF),
    *(
        LinkFormat(f"ERF_{record_type.name}", (own_link_type(kind),), steps.LLC, skip=_ATM_HEADER_BYTES)
        if record_type.name in _AAL5
        else LinkFormat(f"ERF_{record_type.name}", (own_link_type(kind),))
        for kind, record_type in TYPES.items()
        if record_type.link_type is None
    ),
    # Headers are not decoded, only lengths and times are counted; some may be larger than any network packet.
    LinkFormat("USER0", (147,)),
    LinkFormat("USB_LINUX", (189,)),
    LinkFormat("BLUETOOTH_HCI_H4_WITH_PHDR", (201,)),
    LinkFormat("USB_LINUX_MMAPPED", (220,)),
    LinkFormat("CAN_SOCKETCAN", (227,)),
    LinkFormat("DBUS", (231,), limit=1 << 27),
    LinkFormat("NFLOG", (239,)),
    LinkFormat("INFINIBAND", (247,)),
    LinkFormat("USBPCAP", (249,), limit=1 << 27),
    LinkFormat("NETLINK", (253,)),
    LinkFormat("EBHSCR", (279,), limit=1 << 23),
)
LINK_TYPES: dict[int, LinkFormat] = {number: form for form in FORMATS for number in form.numbers}


def link_format(number: int) -> LinkFormat:
    """Return the format of a link type; a number that is not in the table gets its number as its name."""
    return LINK_TYPES.get(number) or LinkFormat(f"LINKTYPE_{number}", (number,))


def unread_links(numbers: Iterable[int]) -> list[str]:
    """Return the names of the link types whose headers are not decoded (only lengths and times are read)."""
    return [form.name for form in map(link_format, numbers) if form.first == steps.UNKNOWN]


def link_rows(numbers: list[int]) -> NDArray[np.int64]:
    """Return one row of kernel numbers for each link type, shape (len(numbers), 5)."""
    rows = [link_format(number).row() for number in numbers]
    return np.array(rows, dtype=np.int64).reshape(-1, 5)
