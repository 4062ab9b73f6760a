"""Ethernet: two addresses and a type or length (IEEE 802.3 clause 3), with or without its preamble in the capture."""

from npexplore._kernels.capture_headers import ETHERNET
from npexplore.packets.links.format import LinkFormat

FORMATS = (
    LinkFormat("ETHERNET", (1,), ETHERNET),
    LinkFormat("ETHERNET_MPACKET", (274,), ETHERNET, skip=8),
    LinkFormat("NETANALYZER", (240,), ETHERNET, skip=4),
    LinkFormat("NETANALYZER_TRANSPARENT", (241,), ETHERNET, skip=12),
)
