"""The packet table: one numpy array a column, 62 bytes a packet; derived columns are computed on access.

IPv6 addresses and the tags in front of the network layer (VLAN, MPLS) are side tables, because few packets have them.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from npexplore._kernels import capture_headers as bits
from npexplore._kernels.capture_records import NO_TIME
from npexplore.errors import one_of
from npexplore.mapped_arrays import release_pages, resized

Column = NDArray[Any]

RECORD_COLUMNS: dict[str, str] = {
    "t_ns": "int64",  # whole nanoseconds since 1970-01-01 UTC, NO_TIME without one
    "length": "uint32",  # bytes on the link (the original length)
    "captured": "uint32",  # bytes in the file
    "position": "int64",  # of the packet's first byte in the (decompressed) file
    "interface": "uint16",  # row of Capture.interfaces
}
HEADER_COLUMNS: dict[str, str] = {
    "flags": "uint16",  # bits of _kernels/capture_headers.py
    "protocol": "uint16",  # ethertype of the network layer; below 256 an LLC service access point
    "l3_offset": "uint16",  # of the network header from the packet's start, NO_OFFSET without one
    "l4_offset": "uint16",  # of the transport header, NO_OFFSET without one
    "l3_length": "uint32",  # bytes of the IP packet as its header says, padding not counted; 0 if not IP
    "src": "uint32",  # IPv4 address
    "dst": "uint32",
    "sport": "uint16",  # of TCP, UDP, UDP-Lite, DCCP, SCTP; 0 in fragments after the first
    "dport": "uint16",
    "ip_proto": "uint8",  # IPv4 protocol, or IPv6 next header after the extension headers
    "tos": "uint8",  # DSCP and ECN
    "ttl": "uint8",  # or IPv6 hop limit
    "ident": "uint32",  # fragment identification
    "fragment": "uint16",  # IPv4 flags and offset as in the header; IPv6 in the same layout
    "tcp_flags": "uint8",
    "vlans": "uint8",  # number of tags
    "labels": "uint8",  # number of MPLS labels
}
STORED: dict[str, str] = {**RECORD_COLUMNS, **HEADER_COLUMNS}


def _flag(*masks: int) -> Callable[["PacketTable"], Column]:
    mask = sum(masks)
    return lambda table: (table.stored["flags"] & mask) != 0


DERIVED: dict[str, Callable[["PacketTable"], Column]] = {
    "ipv4": _flag(bits.IPV4),
    "ipv6": _flag(bits.IPV6),
    "arp": _flag(bits.ARP),
    "checksum_good": _flag(bits.CHECKSUM_GOOD),
    "checksum_bad": _flag(bits.CHECKSUM_BAD),
    "checksum_cut": _flag(bits.CHECKSUM_CUT),
    "malformed": _flag(bits.MALFORMED),
    "is_fragment": _flag(bits.FRAGMENT),
    "nonfirst": _flag(bits.NONFIRST),
    "df": _flag(bits.DONT_FRAGMENT),
    "options": _flag(bits.OPTIONS),
    "has_ports": _flag(bits.PORTS),
    "header_complete": _flag(bits.HEADER),
    "has_time": lambda table: table.stored["t_ns"] != NO_TIME,
    "dscp": lambda table: table.stored["tos"] >> 2,
    "ecn": lambda table: table.stored["tos"] & 3,
    "fragment_offset": lambda table: (table.stored["fragment"] & 0x1FFF).astype(np.uint32) * 8,
    "link_type": lambda table: table.link_types[table.stored["interface"]],
    "vlan_id": lambda table: table.first_tag(bits.TAG_VLAN, 0, 0xFFF),
    "mpls_label": lambda table: table.first_tag(bits.TAG_MPLS, 12, 0xFFFFF),
    "flow_label": lambda table: table.flow_label(),
}


@dataclass(frozen=True, eq=False)
class Tags:
    """VLAN tags and MPLS label stack entries in the order of the packets, outermost first (the first 8 of a packet).

    packet: int64 row of the packet; kind: uint8, 1 VLAN, 2 MPLS; value: uint32, for VLAN the tag protocol identifier
    and the 16 bits of control information, for MPLS the whole label stack entry.
    """

    packet: NDArray[np.int64]
    kind: NDArray[np.uint8]
    value: NDArray[np.uint32]


@dataclass(frozen=True, eq=False)
class Ipv6Addresses:
    """IPv6 packets' own columns: int64 row of the packet; uint8 (n, 16) source and destination; uint32 flow label."""

    packet: NDArray[np.int64]
    source: NDArray[np.uint8]
    destination: NDArray[np.uint8]
    flow_label: NDArray[np.uint32]

    @classmethod
    def joined(cls, parts: "Sequence[Ipv6Addresses]") -> "Ipv6Addresses":
        """Return the concatenated rows of all parts."""
        none = np.empty((0, 16), np.uint8)
        if not parts:
            return cls(np.empty(0, np.int64), none, none, np.empty(0, np.uint32))
        return cls(*(np.concatenate([getattr(part, column.name) for part in parts]) for column in fields(cls)))


@dataclass(frozen=True, eq=False, repr=False)
class PacketTable(Mapping[str, Column]):
    """Columns by name: the stored ones (STORED) and the derived ones (DERIVED); both are listed by iteration.

    Example:
        >>> from npexplore.packets import CaptureScan
        >>> table = next(iter(CaptureScan("sample:zeek_wikipedia")))
        >>> len(table)
        43
    """

    stored: dict[str, Column]
    tags: Tags
    ipv6: Ipv6Addresses
    link_types: NDArray[np.uint16] = field(repr=False)

    def __getitem__(self, name: str) -> Column:
        if name in self.stored:
            return self.stored[name]
        if name in DERIVED:
            return DERIVED[name](self)
        one_of("packet column", name, [*STORED, *DERIVED])
        raise KeyError(name)

    def __contains__(self, name: object) -> bool:
        return name in self.stored or name in DERIVED

    __eq__ = object.__eq__  # compare columns as arrays; a whole table has no equality
    __hash__ = object.__hash__

    def __repr__(self) -> str:
        return f"PacketTable({self.rows:,} packets; columns {', '.join(self)})"

    def _ipython_key_completions_(self) -> list[str]:
        return list(self)

    def __iter__(self) -> Iterator[str]:
        return iter([*self.stored, *DERIVED])

    def __len__(self) -> int:
        return len(self.stored) + len(DERIVED)

    @classmethod
    def of_records(cls, stored: dict[str, Column], link_types: NDArray[np.uint16]) -> "PacketTable":
        """Return a table without tags and IPv6 addresses, for example of synthetic packets."""
        tags = Tags(np.empty(0, np.int64), np.empty(0, np.uint8), np.empty(0, np.uint32))
        return cls(stored, tags, Ipv6Addresses.joined([]), link_types)

    @classmethod
    def empty(cls, link_types: NDArray[np.uint16] | None = None) -> "PacketTable":
        """Return a table of no packets."""
        stored = {name: np.empty(0, dtype) for name, dtype in STORED.items()}
        return cls.of_records(stored, np.empty(0, np.uint16) if link_types is None else link_types)

    @property
    def rows(self) -> int:
        """Number of packets."""
        return len(self.stored["length"])

    @property
    def nbytes(self) -> int:
        """Bytes of memory the stored columns take, side tables not counted."""
        return sum(column.nbytes for column in self.stored.values())

    def chosen(self, rows: NDArray[np.int64]) -> "PacketTable":
        """Return the table of some rows, in ascending order."""
        number = np.full(self.rows, -1, np.int64)
        number[rows] = np.arange(len(rows))

        def side(part: Any) -> Any:
            chosen = number[part.packet] >= 0
            columns = {column.name: getattr(part, column.name)[chosen] for column in fields(part)}
            return type(part)(**{**columns, "packet": number[columns["packet"]]})

        stored = {name: column[rows] for name, column in self.stored.items()}
        return PacketTable(stored, side(self.tags), side(self.ipv6), self.link_types)

    def first_tag(self, kind: int, shift: int, mask: int) -> NDArray[np.int32]:
        """Return a field of each packet's outermost tag of one kind, -1 where it has none."""
        tags = np.full(self.rows, -1, dtype=np.int32)
        chosen = self.tags.kind == kind
        packets, index = np.unique(self.tags.packet[chosen], return_index=True)
        tags[packets] = self.tags.value[chosen][index] >> shift & mask
        return tags

    def flow_label(self) -> NDArray[np.int32]:
        """Return each packet's IPv6 flow label, -1 where it has none."""
        labels = np.full(self.rows, -1, dtype=np.int32)
        labels[self.ipv6.packet] = self.ipv6.flow_label
        return labels


class TableBuilder:
    """Joins tables into one without copying at the end: columns grow in place, so each memory page is touched once.

    Within `arrays_in_files` they are mapped to files.
    """

    def __init__(self, columns: Iterable[str] = STORED) -> None:
        """columns: names of the stored columns to keep; columns derived from any other are missing in the table.

        IPv6 addresses and tags are kept if `src` is.
        """
        self._rows = self._room = 0
        self._stored: dict[str, Column] = {name: np.empty(0, STORED[name]) for name in columns}
        self._tags: list[Tags] = []
        self._ipv6: list[Ipv6Addresses] = []

    def append(self, part: PacketTable, share_read: float = 0.0) -> None:
        """Add a table's packets; share_read: the share of the input read so far, to estimate the final size."""
        start, self._rows = self._rows, self._rows + part.rows
        if self._rows > self._room:
            expected = int(1.02 * self._rows / share_read) if share_read > 0.01 else 0
            self._resize(max(self._rows, expected, self._room + self._room // 2))
        for name, column in self._stored.items():
            column[start : self._rows] = part.stored[name]
        release_pages()
        if "src" not in self._stored:
            return
        if len(part.tags.packet):
            self._tags.append(Tags(part.tags.packet + start, part.tags.kind, part.tags.value))
        if len(part.ipv6.packet):
            self._ipv6.append(replace(part.ipv6, packet=part.ipv6.packet + start))

    def finish(self, link_types: NDArray[np.uint16]) -> PacketTable:
        """Return the table of everything appended; call it once."""
        self._resize(self._rows)
        tags = self._tags or [Tags(np.empty(0, np.int64), np.empty(0, np.uint8), np.empty(0, np.uint32))]
        return PacketTable(
            self._stored,
            Tags(*(np.concatenate([getattr(part, name) for part in tags]) for name in ("packet", "kind", "value"))),
            Ipv6Addresses.joined(self._ipv6),
            link_types,
        )

    def _resize(self, room: int) -> None:
        for name, column in self._stored.items():
            self._stored[name] = resized(column, room)
        self._room = room
