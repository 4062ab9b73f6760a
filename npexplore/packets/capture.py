"""A capture in memory: read_capture and the object it returns."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Literal

import numpy as np

from npexplore.errors import InputError, one_of, shown
from npexplore.mapped_arrays import in_files
from npexplore.memory import check_fits
from npexplore.packets.addresses import address_columns
from npexplore.packets.columns import STORED, PacketTable, TableBuilder
from npexplore.packets.conversations import conversations, directions, tcp_words
from npexplore.packets.dissect import Dissected, dissect
from npexplore.packets.files import CaptureSeries, Files, open_captures, paths_of
from npexplore.packets.length_cdf import LengthCdf
from npexplore.packets.links import link_format, unread_links
from npexplore.packets.pcapng import Interface
from npexplore.packets.scan import Damage
from npexplore.progress import Task
from npexplore.results import plain

if TYPE_CHECKING:
    import pandas as pd

OTHER_LAYERS = {0x8035: "RARP", 0x88E5: "MACsec (encrypted)", 0x88CC: "LLDP"}  # ethertypes that are named


@dataclass(frozen=True, eq=False)
class Capture:
    """All packets of one capture file, as columns.

    columns: mapping of column names to numpy arrays, one element per packet (npexplore.packets.columns lists them);
    format: `pcap`, `pcap-ns`, `pcap-modified`, `pcapng`, `erf`, with `+gzip` or `+zstd`; damage: None, or where and why
    reading ended early (all packets before that place are here); other_blocks: type -> number of skipped pcapng blocks
    that hold no packets; files: the files that were read, empty for a stream; file_packets: the number of packets of
    each file, in the order of `files`.

    Example:
        >>> import npexplore as npx
        >>> capture = npx.read_capture("sample:zeek_wikipedia")
        >>> len(capture), int(capture.columns["length"].sum()), capture.format
        (136, 25260, 'pcap')
    """

    path: str
    format: str
    interfaces: tuple[Interface, ...]
    columns: PacketTable
    damage: Damage | None
    other_blocks: Mapping[str, int] = field(default_factory=dict)
    files: tuple[str, ...] = ()
    file_packets: tuple[int, ...] = ()

    def __len__(self) -> int:
        return self.columns.rows

    @property
    def packets(self) -> "pd.DataFrame":
        """The stored columns and the most used derived columns as a data frame, one row per packet.

        `src` and `dst` are categoricals of text, IPv4 and IPv6, missing where a packet has no IP header;
        `to_frame(numbers=True)` and `columns` have IPv4 addresses as numbers.

        Example:
            >>> import npexplore as npx
            >>> packets = npx.read_capture("sample:zeek_wikipedia").packets
            >>> packets.groupby("src", observed=True)["length"].sum().nlargest(1).to_dict()
            {'141.142.220.118': 12683}
        """
        return self._frame(numbers=False)

    @cached_property
    def _addresses(self) -> "dict[str, pd.Categorical]":
        return address_columns(self.columns)

    def _frame(self, *, numbers: bool) -> "pd.DataFrame":
        import pandas as pd

        derived = ("ipv4", "ipv6", "arp", "dscp", "vlan_id", "mpls_label", "link_type")
        addresses = {} if numbers else self._addresses
        columns = {**self.columns.stored, **addresses, **{name: self.columns[name] for name in derived}}
        return pd.DataFrame(columns, copy=False)

    def to_frame(self, *, numbers: bool = False) -> "pd.DataFrame":
        """Return `packets`, with the unit of each column that has one in `attrs["units"]`.

        numbers: IPv4 addresses are numbers, and 0 for all other packets, as in `columns`.
        """
        frame = self._frame(numbers=numbers)
        frame.attrs["units"] = {"t_ns": "ns", **dict.fromkeys(("length", "captured", "l3_length"), "bytes")}
        return frame

    def flows(self, *, application: bool = False) -> "pd.DataFrame":
        """Return one row for each bidirectional flow: endpoints, times, packets and bytes of each direction, TCP flags.

        TCP flows also have retransmitted, out_of_order, zero_window and handshake_s, as Wireshark defines them
        (`npexplore.packets.conversations.conversations` gives the definitions). These columns take a second pass over
        the files, so a capture of a stream has none of them.

        application: add the names in the first 8 packets with data of each flow: dns_names (queried names, joined by
        commas), tls_server_name, tls_version (chosen by the server), http_host (of the first request) and http_status
        (of the first response); missing where these packets contain no such name. Characters that are not printable
        ASCII are escaped. About 20,000 flows a second. Raises InputError for a capture of a stream.

        Example:
            >>> import npexplore as npx
            >>> flows = npx.read_capture("sample:zeek_wikipedia").flows(application=True)
            >>> len(flows), int(flows["packets"].sum() + flows["packets_back"].sum())
            (34, 126)
            >>> int((flows["http_host"] == "upload.wikimedia.org").sum())
            6
        """
        if not self.files:
            if application:
                raise InputError("a capture of a stream is not kept; read it from a file for names of applications")
            return conversations(self.columns)
        files, flow_directions = list(self.files), directions(self.columns)
        words = tcp_words(files)
        table = conversations(self.columns, words, flow_directions)
        if not application:
            return table
        from npexplore.packets.application import application_columns

        return table.assign(**application_columns(files, self.columns, flow_directions, words))

    def dissect(self, row: int) -> Dissected:
        """Return packet `row` (from 0) as dpkt's layers, with its length on the link, which dpkt does not keep.

        The file is read again up to the packet. Raises InputError for a row outside the capture, and for a capture of a
        stream.

        Example:
            >>> import npexplore as npx
            >>> found = npx.read_capture("sample:zeek_wikipedia").dissect(0)
            >>> found.length, found.layers.data.data.dport
            (87, 5353)
        """
        if not self.files:
            raise InputError("a capture of a stream is not kept; read it from a file to dissect its packets")
        if not 0 <= row < len(self):
            raise InputError(f"packet must be 0 to {len(self) - 1}, got {row}")
        return dissect(list(self.files), row)

    def to_dict(self, *, cell_bytes: int = 64) -> dict[str, Any]:
        """Return the counts as in the JSON document of `npexplore trace stats`.

        cell_bytes: the cell size of a packet buffer, for the share of narrow accesses.
        """
        from npexplore.packets.statistics.counting import CaptureCounts

        counts = CaptureCounts()
        counts.add(self.columns)
        document = counts.document(self.path, self.format, self.damage)
        document.update({"other_blocks": dict(self.other_blocks)} if self.other_blocks else {})
        document["narrow_accesses"] = {"cell_bytes": cell_bytes, "share": counts.narrow_share(cell_bytes)}
        return {name: plain(value) for name, value in document.items()}

    def length_cdf(self, *, layer: Literal["link", "ip"] = "link") -> LengthCdf:
        """Return the distribution of packet lengths: `link` original frame lengths, `ip` IP packets' total lengths."""
        if one_of("layer of lengths", layer, ("link", "ip")) == "ip":
            lengths = self.columns["l3_length"][self.columns["ipv4"] | self.columns["ipv6"]]
        else:
            lengths = self.columns["length"]
        values, counts = np.unique(lengths, return_counts=True)
        return LengthCdf(values, np.cumsum(counts) / max(1, len(lengths)), counts)

    def summary(self) -> dict[str, str]:
        """Return the most important facts: name -> text."""
        table = self.columns
        lines = {"file": self.path, "format": self.format}
        kinds, counts = np.unique(table["link_type"], return_counts=True)
        lines["link types"] = ", ".join(
            f"{link_format(int(number)).name} {count:,}" for number, count in zip(kinds, counts, strict=True)
        )
        if unread := unread_links(map(int, kinds)):
            lines["not decoded"] = f"link type {', '.join(unread)}"
        lines["packets"] = f"{len(self):,}"
        if len(self):
            lengths = table["length"]
            lines["bytes"] = (
                f"{int(lengths.sum(dtype=np.int64)):,} (captured {int(table['captured'].sum(dtype=np.int64)):,})"
            )
            lines["length"] = (
                f"mean {lengths.mean():.1f}, median {self.length_cdf().quantile(0.5)}, maximum {lengths.max():,} bytes"
            )
            shares = {name: int(table[name].sum()) for name in ("ipv4", "ipv6", "arp")}
            other_layers = {name: int((table["protocol"] == number).sum()) for number, name in OTHER_LAYERS.items()}
            shares["other"] = len(self) - sum(shares.values()) - sum(other_layers.values())
            shares.update(other_layers)
            lines["network layer"] = ", ".join(f"{name} {count:,}" for name, count in shares.items() if count)
        times = table["t_ns"][table["has_time"]]
        if len(times):
            lines["duration"] = f"{(int(times.max()) - int(times.min())) / 1e9:.6f} s"
        if self.other_blocks:
            lines["not read"] = ", ".join(f"{count:,} blocks: {name}" for name, count in self.other_blocks.items())
        lines["damage"] = str(self.damage) if self.damage else "none"
        return lines

    def __repr__(self) -> str:
        return "\n".join(f"{name + ':':<15}{value}" for name, value in self.summary().items())

    def _repr_html_(self) -> str:
        lines = {**self.summary(), "file": Path(self.path).name}  # pages are shared with others: leave out the folder
        rows = (f"<tr><th>{escape(name)}</th><td>{escape(value)}</td></tr>" for name, value in lines.items())
        return f"<table>{''.join(rows)}</table>"


def read_capture(path: Files | BinaryIO, *, workers: int = 1, columns: Sequence[str] = tuple(STORED)) -> Capture:
    """Read a whole capture into memory: pcap (every magic), pcapng or ERF, plain or compressed by gzip or zstd.

    A packet takes 62 bytes of memory. A damaged file gives the packets before the damage; `.damage` describes it.

    Args:
        path: a file; several (a list, a folder, or a pattern such as `*.pcap`), read one after the other as one
            capture; a binary stream; or `-` for standard input.
        workers: the number of threads that read the columns.
        columns: the stored columns to keep, which must include `length`; columns derived from the others are missing
            too. IPv6 addresses and tags are kept with `src`.

    Raises:
        InputError: no such file, not a capture, or too large for the memory (raised as soon as this is known).

    Example:
        >>> import npexplore as npx
        >>> capture = npx.read_capture("sample:zeek_wikipedia")
        >>> len(capture), capture.damage
        (136, None)
    """
    scan = open_captures(path, workers=workers)
    builder, unit = TableBuilder(columns), "B" if in_files() else ""
    with Task(f"reading {shown(scan.path)}", unit=unit, total=scan.bytes_total or None) as task:
        for k, part in enumerate(scan):
            if k == 0 and scan.share_read and not in_files():
                expected = part.rows / scan.share_read * sum(np.dtype(STORED[name]).itemsize for name in columns)
                instead = "trace stats and trace convert do with less"
                check_fits(expected, f"{shown(scan.path)}: the whole capture", instead)
            builder.append(part, scan.share_read)
            task.reach(scan.bytes_read, task.total)
    table = builder.finish(scan.link_types)
    return Capture(
        shown(scan.path),
        scan.format,
        tuple(scan.interfaces),
        table,
        scan.damage,
        scan.other_blocks,
        tuple(paths_of(scan)) if isinstance(path, str | Path | Sequence) and path != "-" else (),
        tuple(scan.packets) if isinstance(scan, CaptureSeries) else (table.rows,),
    )
