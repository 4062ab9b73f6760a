"""Writes captures, pcap (microseconds or nanoseconds) or pcapng: copied (filtered, cut, anonymised) or new packets."""

import struct
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from npexplore._kernels.capture_write import NO_TIME, pack_pcap, pack_pcapng
from npexplore.display import ShownByArguments
from npexplore.errors import InputError, one_of
from npexplore.packets.anonymise import Anonymiser
from npexplore.packets.columns import PacketTable
from npexplore.packets.erf import OWN_LINK_TYPES
from npexplore.packets.files import Files, Scan, open_captures, paths_of
from npexplore.packets.filters import matching_packets
from npexplore.packets.links import link_format
from npexplore.packets.output import replacing
from npexplore.packets.pcapng import Interface
from npexplore.packets.scan import Damage

FORMATS = ("pcap", "pcap-ns", "pcapng")
_MAGIC = {"pcap": 0xA1B2C3D4, "pcap-ns": 0xA1B23C4D}


class Unnamed(Sequence[Interface]):
    """The interfaces of a scan without their names; the list grows while the scan reads."""

    def __init__(self, interfaces: Sequence[Interface]) -> None:
        self._interfaces = interfaces

    def __len__(self) -> int:
        return len(self._interfaces)

    def __getitem__(self, number: Any) -> Any:
        return replace(self._interfaces[number], name="")


class CaptureWriter(ShownByArguments):
    """Append packets to a new capture file; use it in a `with` block.

    form: `pcap` (microseconds; finer time stamps are cut off), `pcap-ns` or `pcapng` (nanoseconds, several
    interfaces). Raises InputError for an unknown format, and for a second link type in a pcap file.
    """

    def __init__(self, path: str | Path, form: str = "pcap-ns", *, snaplen: int = 262_144) -> None:
        self._form = one_of("capture format", form, FORMATS)
        self._snaplen = snaplen
        self._links: list[int] = []
        self.interfaces: Sequence[Interface] = ()  # of the source, for their frame check sequence lengths
        self._file = open(path, "wb")  # noqa: SIM115
        self.path = str(path)
        if form == "pcapng":
            self._file.write(struct.pack("<IIIHHqI", 0x0A0D0D0A, 28, 0x1A2B3C4D, 1, 0, -1, 28))

    def __enter__(self) -> "CaptureWriter":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._file.closed:
            return
        with self._file:
            if error is None and not self._links:
                self._interfaces([1])

    def _interfaces(self, links: Sequence[int]) -> None:
        """Declare the interfaces that packets may refer to; those declared before must not change."""
        if nameless := [link_format(link).name for link in links if link >= OWN_LINK_TYPES]:
            raise InputError(
                f"{self.path}: pcap and pcapng have no link type for {nameless[0]} packets; filter them out"
            )
        if self._form == "pcapng":
            for number, link in enumerate(links[len(self._links) :], start=len(self._links)):
                fcs = self.interfaces[number].fcs_bytes if number < len(self.interfaces) else None
                name = self.interfaces[number].name.encode()[:255] if number < len(self.interfaces) else b""
                options = struct.pack("<HH", 2, len(name)) + name + bytes(-len(name) % 4) if name else b""
                options += struct.pack("<HHBxxx", 9, 1, 9)
                options += (b"" if fcs is None else struct.pack("<HHBxxx", 13, 1, fcs)) + bytes(4)
                size = 20 + len(options)
                self._file.write(struct.pack("<IIHHI", 1, size, link, 0, 0) + options + struct.pack("<I", size))
            self._links = list(links)
            return
        kinds = sorted(set(links))
        if len(kinds) > 1 or (self._links and kinds != self._links):
            raise InputError(f"{self.path}: a pcap file has one link type, got {kinds}; write pcapng")
        fcs_bits = self._fcs_bits(kinds[0])  # also checks interfaces that the scan has found since
        if not self._links:
            head = _MAGIC[self._form], 2, 4, 0, 0, self._snaplen, kinds[0] | fcs_bits
            self._file.write(struct.pack("<IHHiIII", *head))
        self._links = kinds

    def _fcs_bits(self, link: int) -> int:
        """Return the link-type bits that state the frame check sequence; raises InputError for different lengths."""
        lengths = {interface.fcs_bytes for interface in self.interfaces if interface.link_type == link} or {None}
        if len(lengths) > 1:
            stated = ", ".join("none stated" if length is None else str(length) for length in lengths)
            raise InputError(
                f"{self.path}: a pcap file has one length of frame check sequences, got {stated}; write pcapng"
            )
        fcs = lengths.pop()
        return 0 if fcs is None else 1 << 26 | fcs // 2 << 28

    def write(
        self,
        data: NDArray[np.uint8],
        base: int,
        table: PacketTable,
        rows: NDArray[np.int64],
        captured: NDArray[np.int64],
    ) -> None:
        """Append rows of a table; data[position - base:] holds a packet's bytes, captured[row] of which are written.

        Packets without a time stamp get time 0. Raises InputError for a time that the format cannot hold.
        """
        links = table.link_types.tolist()
        if self._form != "pcapng":
            links = np.unique(table["link_type"][rows]).tolist() or self._links
        if not len(rows):
            return
        self._interfaces(links)
        times = table["t_ns"][rows]
        max_ns, last_year = ((1 << 63) - 1, 2262) if self._form == "pcapng" else ((1 << 32) * 10**9 - 1, 2106)
        invalid = (times != NO_TIME) & ((times < 0) | (times > max_ns))
        if invalid.any():
            raise InputError(
                f"{self.path}: {self._form} holds times from 1970 to {last_year}, got {times[invalid][0]} ns"
            )
        out = np.empty(int(captured[rows].sum()) + 36 * len(rows), dtype=np.uint8)
        common = rows, table["t_ns"], table["length"], captured, table["position"]
        if self._form == "pcapng":
            size = pack_pcapng(out, data, base, table["interface"], *common)
        else:
            size = pack_pcap(out, data, base, 1 if self._form == "pcap-ns" else 1000, *common)
        self._file.write(out[:size].data)


def rewrite(
    source: Files | Scan,
    target: str | Path,
    *,
    form: str = "pcap-ns",
    where: str | None = None,
    snaplen: int | None = None,
    key: bytes | None = None,
    keep_payload: bool = False,
    workers: int = 1,
    wrap: Callable[[Iterable[Any]], Iterable[Any]] = iter,
) -> tuple[int, Damage | None]:
    """Copy a capture's packets to another file; return how many were written, and the damage of the source.

    source: a file, several as one, or what `open_captures` returned for them; where: a filter
    (npexplore.packets.filters); snaplen: maximum bytes kept of a packet, original lengths stay; key: 32 bytes,
    anonymises addresses and (unless keep_payload) cuts off bytes that may hold addresses; workers: threads that
    decode and anonymise, with the same result; wrap: wraps the iteration, for a progress bar. Memory does not grow
    with the file. Raises InputError for unreadable input or an invalid filter.
    """
    anonymiser = Anonymiser(key) if key is not None else None
    written = 0

    def work(table: PacketTable, data: NDArray[np.uint8], base: int) -> tuple[NDArray[np.uint8], int, Any]:
        return data, base, anonymiser.apply(data, base, table) if anonymiser else None

    with (
        closing(open_captures(source, workers=workers)) as scan,
        replacing(paths_of(scan), target) as part,
        CaptureWriter(part, form) as writer,
    ):
        if anonymiser:  # an interface's name may contain an address
            writer.interfaces = Unnamed(scan.interfaces)
        else:
            writer.interfaces = scan.interfaces
        for table, (data, base, known_bytes) in wrap(scan.each(work)):
            rows = np.flatnonzero(matching_packets(table, where)) if where else np.arange(table.rows)
            captured = table["captured"].astype(np.int64)
            if snaplen is not None:
                captured = np.minimum(captured, snaplen)
            if known_bytes is not None and not keep_payload:
                captured = np.minimum(captured, known_bytes)
            writer.write(data, base, table, rows, captured)
            written += len(rows)
    return written, scan.damage


def write_packets(
    path: str | Path,
    t_ns: NDArray[np.int64],
    packets: NDArray[np.uint8],
    captured: NDArray[np.int64],
    length: NDArray[np.int64],
    *,
    form: str = "pcap-ns",
    link_type: int = 1,
) -> None:
    """Write packets made in memory; the first captured[i] bytes of row i are written.

    packets: uint8, shape (n, width).

    path: the capture to write. t_ns: times in nanoseconds, shape (n,). captured, length: stored bytes and bytes on
    the wire of each packet, shape (n,). form: "pcap", "pcap-ns" or "pcapng". link_type: number of the link type (1:
    Ethernet).
    """
    count, width = packets.shape
    if (captured > width).any():
        raise InputError(f"captured lengths must be at most {width} (the bytes there are), got {captured.max()}")
    stored: dict[str, Any] = {
        "t_ns": np.asarray(t_ns, np.int64),
        "length": np.asarray(length, np.uint32),
        "position": np.arange(count, dtype=np.int64) * width,
        "interface": np.zeros(count, np.uint16),
    }
    table = PacketTable.of_records(stored, np.array([link_type], np.uint16))
    with CaptureWriter(path, form) as writer:
        writer._interfaces([link_type])
        writer.write(packets.reshape(-1), 0, table, np.arange(count), np.asarray(captured, np.int64))
