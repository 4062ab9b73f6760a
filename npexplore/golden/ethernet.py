"""Ethernet frames (IEEE 802.3): the header length, and the EtherTypes that the router distinguishes."""

ETHERNET = 14  # bytes: destination, source, type
IPV4_TYPE, IPV6_TYPE = b"\x08\x00", b"\x86\xdd"
MPLS_TYPE, UPSTREAM_TYPE = (
    b"\x88\x47",
    b"\x88\x48",
)  # RFC 5332 section 4: the top label is downstream-assigned, upstream-assigned
BROADCAST_MAC = b"\xff" * 6
