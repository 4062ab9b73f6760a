"""Scan a capture once, in chunks of bounded memory: bytes -> packet records -> header columns.

    format of the file (first 4 bytes) -> framing kernel -> decoding kernel -> PacketTable, one a chunk

Framing is sequential; decoding one chunk does not depend on another, so several workers may do it at once.
"""

import struct
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

import numpy as np
from numpy.typing import NDArray

from npexplore._kernels import capture_records as records
from npexplore.display import ShownByArguments
from npexplore.errors import InputError
from npexplore.packets import erf, pcap, pcapng
from npexplore.packets.columns import RECORD_COLUMNS, PacketTable
from npexplore.packets.decode import Room, decode
from npexplore.packets.links import link_format, link_rows
from npexplore.packets.pcapng import Interface
from npexplore.packets.source import Source, other_format

T = TypeVar("T")
Work = Callable[[PacketTable, NDArray[np.uint8], int], T]
CHUNK_PACKETS = 1 << 15
MAX_INTERFACES = 1 << 16


@dataclass(frozen=True)
class Damage:
    """Where the readable part of a capture ends (offset in the decompressed file) and why.

    Example:
        >>> from npexplore.packets import Damage
        >>> Damage(offset=24, message="record is cut short")
        Damage(offset=24, message='record is cut short')
    """

    offset: int
    message: str

    def __str__(self) -> str:
        return f"{self.message} at offset {self.offset}"


class CaptureScan(ShownByArguments):
    """Iterate over a capture's packets, one PacketTable per chunk; memory does not grow with the file.

    path: a pcap, pcapng or ERF file, plain, gzip or zstd, `-` for standard input, or a binary file object. Raises
    InputError if there is no such file or it is not a capture. `damage` is None until the end, and stays None for an
    undamaged file. With workers > 1 chunks are decoded in threads, in the same order and with the same result.
    passing: each table overwrites the one before (one worker only), which is faster.

    Example:
        >>> from npexplore.packets import CaptureScan
        >>> scan = CaptureScan("sample:zeek_wikipedia")
        >>> sum(table.rows for table in scan), scan.format
        (136, 'pcap')
    """

    def __init__(
        self, path: str | Path | BinaryIO, *, workers: int = 1, chunk_packets: int = CHUNK_PACKETS,
        passing: bool = False,
    ) -> None:  # fmt: skip
        self.damage: Damage | None = None
        self.interfaces: list[Interface] = []
        self._workers = workers
        self._source = Source(path)
        self.path = self._source.name
        self._source.keep = workers > 1
        self._records = {name: np.zeros(chunk_packets, dtype) for name, dtype in RECORD_COLUMNS.items()}
        self._room = Room(chunk_packets) if passing and workers <= 1 else None
        self._state = np.zeros(4 + 2 * records.OTHER_TYPES, dtype=np.int64)
        self._links = link_rows([])
        self._link_types = np.zeros(0, np.uint16)
        self.format = self._recognise()

    @property
    def link_types(self) -> NDArray[np.uint16]:
        """Link type of each interface met so far."""
        return self._link_types[: len(self.interfaces)]

    @property
    def other_blocks(self) -> dict[str, int]:
        """Number of skipped pcapng blocks that hold no packets, by type, so far."""
        rows = [(int(kind), int(count)) for kind, count in self._state[4:].reshape(-1, 2) if count]
        return {pcapng.block_name(kind) if kind >= 0 else "other types": count for kind, count in rows}

    @property
    def window(self) -> tuple[NDArray[np.uint8], int]:
        """Bytes of the packets of the table yielded last, and the offset of the first; valid until the next table."""
        return self._source.data, self._source.base

    @property
    def bytes_read(self) -> int:
        """Bytes of the file read so far; of a compressed file, compressed bytes."""
        return min(self._source.taken, self.bytes_total) if self.bytes_total else self._source.taken

    @property
    def bytes_total(self) -> int:
        """Bytes of the file, 0 if unknown (a pipe, a file object)."""
        return self._source.size

    @property
    def share_read(self) -> float:
        """Share of the input that has been read, 0 if its size is unknown."""
        return self.bytes_read / self.bytes_total if self.bytes_total else 0.0

    def close(self) -> None:
        """Close the file; reading to the end does it too."""
        self._source.close()

    def __iter__(self) -> Iterator[PacketTable]:
        for table, _ in self.each(lambda table, data, base: None):
            yield table

    def each(self, work: Work[T]) -> Iterator[tuple[PacketTable, T]]:
        """Yield each table with the result of `work(table, data, base)`, which may change its packets' bytes.

        data[position - base:] holds the bytes of the table's packets. With workers > 1 the work is done in threads.
        """
        chunks = self._erf_chunks() if self._erf else self._pcap_chunks() if self._pcap else self._pcapng_chunks()

        def decode_chunk(data: Any, base: int, *records: Any) -> tuple[PacketTable, T]:
            table = decode(data, base, *records)
            return table, work(table, data, base)

        try:
            if self._workers <= 1:
                for chunk in chunks:
                    yield decode_chunk(*chunk)
                return
            futures: deque[Future[tuple[PacketTable, T]]] = deque()
            with ThreadPoolExecutor(self._workers) as pool:
                for chunk in chunks:
                    futures.append(pool.submit(decode_chunk, *chunk))
                    if len(futures) > 2 * self._workers:
                        yield futures.popleft().result()
                while futures:
                    yield futures.popleft().result()
        finally:
            self._source.close()

    def _recognise(self) -> str:
        source = self._source
        self._pcap: pcap.PcapHeader | None = None
        self._erf = False
        suffix = f"+{source.compression}" if source.compression else ""
        magic = source.bytes(4) if source.need(4) else source.bytes(source.available())
        if magic == pcapng.SECTION_TYPE:
            return "pcapng" + suffix
        if len(magic) < 4 or pcap.magic_order(magic) is None:
            if erf.looks_like(source):
                self._erf = True
                return "erf" + suffix
            source.close()
            content = f"starts with {magic.hex(' ')}" if magic else "is empty"
            reason = source.damage or other_format(magic)
            cause = f" ({reason})" if reason else ""
            name = "standard input" if self.path == "-" else self.path
            raise InputError(f"{name}: must be pcap, pcapng or ERF (plain, gzip or zstd), but {content}{cause}")
        size = pcap.file_header_bytes(magic)
        if not source.need(size):
            self._cut("the file header", size)
            return "pcap" + suffix
        try:
            self._pcap = pcap.parse_header(self.path, source.bytes(24))
        except InputError:
            source.close()
            raise
        source.skip(size)
        header = self._pcap
        resolution = f"10^-{6 if header.ns_per_tick > 1 else 9}"
        self._add(Interface(0, header.link_type, header.snaplen, resolution, 0, "", header.fcs_bytes))
        return header.name + suffix

    def _add(self, interface: Interface) -> None:
        self.interfaces.append(interface)
        if len(self.interfaces) > len(self._links):
            larger = np.zeros((max(4, 2 * len(self._links)), 5), dtype=np.int64)
            larger[: len(self._links)] = self._links
            self._links = larger
            self._link_types = np.concatenate([self._link_types, np.zeros(len(larger), np.uint16)])[: len(larger)]
        self._links[len(self.interfaces) - 1] = link_format(interface.link_type).row()
        self._link_types[len(self.interfaces) - 1] = interface.link_type

    def _cut(self, what: str, wanted: int) -> None:
        source = self._source
        if source.damage:
            self.damage = Damage(source.base + source.end, source.damage)
        elif source.available():
            self.damage = Damage(source.offset, f"{what} needs {wanted} bytes, the file has {source.available()} more")

    def _chunk(self, count: int) -> tuple[Any, ...]:
        table = {name: column[:count] for name, column in self._records.items()}
        if self._room is None:
            table = {name: column.copy() for name, column in table.items()}
        return self._source.data, self._source.base, table, self._links, self.link_types, self._room

    def _pcap_chunks(self) -> Iterator[tuple[Any, ...]]:
        source, state, header = self._source, self._state, self._pcap
        if header is None:
            return
        limit = link_format(header.link_type).limit
        out = [self._records[name] for name in ("t_ns", "length", "captured", "position")]
        while True:
            count = records.frame_pcap(
                source.data, source.start, source.end, source.base, header.big_endian, header.record_header_bytes,
                header.length_order, header.ns_per_tick, limit, header.words, state, *out,
            )  # fmt: skip
            source.start = int(state[0])
            if count:
                yield self._chunk(count)
            if state[1] in (records.TOO_LONG, records.NEXT_FILE):
                self.damage = Damage(source.offset, _explain(int(state[1]), int(state[2]), int(state[3])))
                return
            if state[1] == records.MORE and not source.need(required := int(state[2])):
                self._cut("a record", required)
                return

    def _pcapng_chunks(self) -> Iterator[tuple[Any, ...]]:
        source, state = self._source, self._state
        out = [self._records[name] for name in ("t_ns", "length", "captured", "position", "interface")]
        order, section, first_interface = "<", -1, 0
        clocks = np.zeros((4, 5), dtype=np.int64)
        count = 0  # packets of the next chunk so far
        while self.damage is None:
            known = len(self.interfaces) - first_interface
            if section < 0:
                state[1] = records.SECTION
            else:
                count += records.frame_pcapng(
                    source.data, source.start, source.end, source.base, order == ">", clocks, known, first_interface,
                    state,                     *(column[count:] for column in out),
                )  # fmt: skip
                source.start = int(state[0])
            status, length = int(state[1]), int(state[2])
            block_inside = status in (records.SECTION, records.INTERFACE) and source.available() >= max(28, length + 3)
            if count and not block_inside:
                yield self._chunk(count)
                count = 0
            if status == records.MORE:
                if not source.need(length):
                    self._cut("a block", length)
                    break
            elif status == records.SKIP:
                records._note_other(state, struct.unpack(order + "I", source.bytes(4))[0])
                self._skip(order, length)
            elif status == records.SECTION:
                if (byte_order := self._section()) is None:
                    break
                order, section, first_interface = byte_order, section + 1, len(self.interfaces)
            elif status == records.INTERFACE:
                if len(self.interfaces) == MAX_INTERFACES:
                    self.damage = Damage(source.offset, f"a capture may have at most {MAX_INTERFACES} interfaces")
                    break
                size = length + 3 & ~3
                try:
                    interface, clock = pcapng.parse_interface(source.bytes(size), order, section)
                except InputError as error:
                    self.damage = Damage(source.offset, str(error))
                    break
                source.skip(size)
                self._add(interface)
                if known == len(clocks):
                    clocks = np.concatenate([clocks, np.zeros_like(clocks)])
                clocks[known] = (*clock, interface.snaplen, link_format(interface.link_type).limit)
            elif status != records.OUT_FULL:
                self.damage = Damage(source.offset, _explain(status, length, int(state[3])))
        if count:
            yield self._chunk(count)

    def _erf_chunks(self) -> Iterator[tuple[Any, ...]]:
        source, state = self._source, self._state
        out = [self._records[name] for name in ("t_ns", "length", "captured", "position", "interface")]
        subheaders, numbers = erf.subheader_bytes(), np.full((128, 4), -1, np.int64)
        while True:
            count = records.frame_erf(
                source.data, source.start, source.end, source.base, subheaders, numbers, state, *out
            )
            source.start = int(state[0])
            if count:
                yield self._chunk(count)
            status, value = int(state[1]), int(state[2])
            if status == records.INTERFACE:
                numbers[divmod(value, 4)] = len(self.interfaces)
                self._add(erf.interface(*divmod(value, 4)))
            elif status == records.RECORD_TOO_SHORT:
                self.damage = Damage(source.offset, f"record length must be at least {state[3]} bytes, got {value}")
                return
            elif status == records.MORE and not source.need(value):
                self._cut("a record", value)
                return

    def _section(self) -> str | None:
        """Consume a section header block; return the section's byte order, None with `damage` set."""
        source = self._source
        if not source.need(28):
            self._cut("a section header", 28)
            return None
        header = source.bytes(28)
        order = pcapng.section_order(header)
        if order is None:
            self.damage = Damage(source.offset + 8, f"byte-order magic must be 1a2b3c4d, got {header[8:12].hex()}")
            return None
        length, _, major, minor = struct.unpack(order + "IIHH", header[4:16])
        if length < 28:
            self.damage = Damage(source.offset, _explain(records.BLOCK_TOO_SHORT, length, 28))
        elif (major, minor) not in pcapng.VERSIONS:
            self.damage = Damage(source.offset + 12, f"pcapng version must be 1.0 or 1.2, got {major}.{minor}")
        else:
            self._skip(order, length + 3 & ~3, length)
        return order if self.damage is None else None

    def _skip(self, order: str, padded: int, total: int | None = None) -> None:
        """Pass over a block of any size and compare its two total lengths."""
        source = self._source
        at = source.offset
        if total is None:
            total = struct.unpack(order + "I", source.bytes(8)[4:])[0]
        if not source.skip(padded - 4) or not source.need(4):
            self.damage = Damage(
                at, source.damage or f"a block of {padded} bytes is cut off after {source.base + source.end - at}"
            )
            return
        trailer = struct.unpack(order + "I", source.bytes(4))[0]
        if trailer != total:
            self.damage = Damage(at, _explain(records.TRAILER_DIFFERS, total, trailer))
            return
        source.skip(4)


def _explain(status: int, value: int, bound: int) -> str:
    return {
        records.NEXT_FILE: "another pcap file begins (cat joins no captures; mergecap does, and so do several FILEs)",
        records.TOO_LONG: f"captured length must be at most {bound} bytes, got {value}",
        records.BLOCK_TOO_SHORT: f"block length must be at least {bound} bytes, got {value}",
        records.BLOCK_TOO_LONG: f"block length must be at most {bound} bytes, got {value}",
        records.TRAILER_DIFFERS: f"a block's two lengths must be equal, got {value} and {bound}",
        records.NO_SUCH_INTERFACE: f"interface must be below {bound} (the section's interfaces so far), got {value}",
        records.DATA_OVERRUNS: f"captured length must be at most {bound} bytes (its block's), got {value}",
    }[status]
