"""How a packet of a link type starts, described as steps for the kernel that decodes headers.

packet = [skip or counted bytes] [what the first step reads] ...
"""

from dataclasses import dataclass

from npexplore._kernels import capture_headers as steps

PCAP_LIMIT = 262_144
"""Largest captured length a record may claim (libpcap's MAXIMUM_SNAPLEN, Wireshark's WTAP_MAX_PACKET_SIZE_STANDARD)."""


@dataclass(frozen=True)
class LinkFormat:
    """One row of the table of link types.

    name: the LINKTYPE_ name of www.tcpdump.org/linktypes.html; numbers: the values that mean it in a file.
    first: the step that reads the bytes after `skip` bytes, or after a header that has its length in a field at
    `length_at` (width 1: rounded up to 4; 2: little-endian; 4: big-endian). protocol_at: offset of the ethertype or
    address family, for the steps that use one.
    """

    name: str
    numbers: tuple[int, ...]
    first: int = steps.UNKNOWN
    skip: int = 0
    length_at: int = 0
    length_width: int = 0
    protocol_at: int = 0
    limit: int = PCAP_LIMIT

    def row(self) -> tuple[int, int, int, int, int]:
        """Return the numbers the kernel reads, in the order its constants name."""
        return self.first, self.skip, self.length_at, self.length_width, self.protocol_at
