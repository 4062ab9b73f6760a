"""Names of applications (DNS, TLS, HTTP) in the first packets of each flow, read by dpkt.

DNS (RFC 1035) is recognised by its ports, TLS (RFC 8446, 6066) and HTTP/1 (RFC 9112) by the first bytes of a direction
of a TCP flow.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from io import BytesIO
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from npexplore._kernels.capture_headers import NO_OFFSET
from npexplore.packets.columns import PacketTable
from npexplore.packets.conversations import TCP, Directions, Words
from npexplore.packets.files import Files, open_captures

if TYPE_CHECKING:
    import pandas as pd

UDP, UDP_HEADER = 17, 8
DNS_PORTS = (53, 5353, 5355)  # DNS, multicast DNS (RFC 6762), LLMNR (RFC 4795)
FIRST_PACKETS = 8  # of a flow, counting only packets with data
REQUEST, RESPONSE = re.compile(rb"[A-Z][A-Z-]+ .*HTTP/\d"), re.compile(rb"HTTP/\S+ +(\d{3})\b")
CHANGE_CIPHER, ALERT, HANDSHAKE = 20, 21, 22  # records
CLIENT_HELLO, SERVER_HELLO = 1, 2  # messages
SERVER_NAME, SUPPORTED_VERSIONS = 0, 43  # extensions
TLS_VERSIONS = {0x300: "SSL 3.0", 0x301: "TLS 1.0", 0x302: "TLS 1.1", 0x303: "TLS 1.2", 0x304: "TLS 1.3"}
TLS_DRAFT = 0x7F00
Piece = tuple[bool, int, bytes]  # (opposite to the flow's first packet, sequence number, data)


def application_columns(files: Files, table: PacketTable, ways: Directions, words: Words) -> dict[str, Any]:
    """Return the columns dns_names, tls_server_name, tls_version, http_host and http_status, one element a flow.

    ways and words belong to the packets of `table`. The first 8 packets with data of each flow are read; this takes one
    more pass over the files. An element is missing where these packets do not contain the name, or are damaged.
    """
    import pandas as pd

    flows = int(ways.number.max()) + 1 if len(ways.number) else 0
    names_of_flow: dict[int, dict[str, Any]] = {}
    pieces: dict[int, list[Piece]] = {}
    first = np.unique(ways.number, return_index=True)[1]
    protocol, ports = ways.tuples["ip_proto"][first], (ways.tuples["sport"][first], ways.tuples["dport"][first])
    is_dns = np.isin(ports[0], DNS_PORTS) | np.isin(ports[1], DNS_PORTS)
    for flow, piece in _data(files, table, _first_packets(table, ways, words, is_dns)):
        pieces.setdefault(flow, []).append(piece)
    for flow, flow_pieces in pieces.items():
        datagrams = [data for _, _, data in flow_pieces] if protocol[flow] == UDP else []
        names_of_flow[flow] = _named(datagrams, flow_pieces, asks=bool(is_dns[flow]))

    def column(name: str, kind: str) -> pd.api.extensions.ExtensionArray:
        return pd.array([names_of_flow.get(flow, {}).get(name, pd.NA) for flow in range(flows)], dtype=kind)

    text_columns = ("dns_names", "tls_server_name", "tls_version", "http_host")
    return {**{name: column(name, "string") for name in text_columns}, "http_status": column("http_status", "Int64")}


def _first_packets(
    table: PacketTable, ways: Directions, words: Words, asks: NDArray[np.bool_]
) -> dict[str, NDArray[np.int64]]:
    """Return row, flow, direction, sequence number, start and end of data of the packets to read, by row."""
    l3, l4 = (table[name].astype(np.int64) for name in ("l3_offset", "l4_offset"))
    end = l3 + table["l3_length"].astype(np.int64)
    start, sequence = np.full(table.rows, NO_OFFSET, np.int64), np.zeros(table.rows, np.int64)
    udp = (table["ip_proto"] == UDP) & table["has_ports"] & (l4 != NO_OFFSET)
    start[udp] = l4[udp] + UDP_HEADER
    start[words["row"]] = end[words["row"]] - words["payload"]
    sequence[words["row"]] = words["seq"]
    end = np.minimum(end, table["captured"].astype(np.int64))
    is_tcp = ways.tuples["ip_proto"] == TCP
    chosen = np.flatnonzero((end > start)[ways.rows] & (is_tcp | asks[ways.number]))
    order = np.argsort(ways.number[chosen], kind="stable")
    flow = ways.number[chosen][order]
    flow_starts = np.flatnonzero(np.r_[True, flow[1:] != flow[:-1]]) if len(flow) else np.empty(0, np.int64)
    place_in_flow = np.arange(len(flow)) - np.repeat(flow_starts, np.diff(np.r_[flow_starts, len(flow)]))
    chosen = np.sort(chosen[order[place_in_flow < FIRST_PACKETS]])
    rows = ways.rows[chosen]
    columns = {"row": rows, "flow": ways.number[chosen], "back": ways.back[chosen].astype(np.int64)}
    return columns | {"sequence": sequence[rows], "start": start[rows], "end": end[rows]}


def _data(files: Files, table: PacketTable, chosen: dict[str, NDArray[np.int64]]) -> Iterator[tuple[int, Piece]]:
    """Yield the flow number and the data of each chosen packet."""
    rows_before = 0
    for part, (data, base) in open_captures(files).each(lambda part, data, base: (data, base)):
        of_table = slice(*np.searchsorted(chosen["row"], (rows_before, rows_before + part.rows)))
        position = part["position"][chosen["row"][of_table] - rows_before] - base
        rows = zip(
            *(chosen[name][of_table].tolist() for name in ("flow", "back", "sequence", "start", "end")), strict=True
        )
        for packet_start, (flow, back, sequence, start, end) in zip(position.tolist(), rows, strict=True):
            yield flow, (bool(back), sequence, data[packet_start + start : packet_start + end].tobytes())
        rows_before += part.rows


def _named(datagrams: list[bytes], parts: list[Piece], *, asks: bool) -> dict[str, Any]:
    """Return the names in a flow's first packets: column -> value."""
    answer: dict[str, Any] = {}
    streams = [] if datagrams else [stream(part[1:] for part in parts if part[0] == back) for back in (False, True)]
    if asks:
        for tcp_stream in streams:
            datagrams = datagrams + list(_messages(tcp_stream))
        names = dict.fromkeys(name for message in datagrams for name in dns_names(message))
        answer |= {"dns_names": ",".join(names)} if names else {}
    for tcp_stream in streams:
        answer = {**tls_hello(tcp_stream), **http_head(tcp_stream), **answer}
    return answer


def stream(pieces: Iterable[tuple[int, bytes]]) -> bytes:
    """Return one direction's data up to the first gap; pieces: (sequence number, data) of segments in any order."""
    parts = list(pieces)
    if not parts:
        return b""
    first_sequence = parts[0][0]
    by_offset = sorted(((sequence - first_sequence + (1 << 31)) % (1 << 32), data) for sequence, data in parts)
    joined, origin = bytearray(), by_offset[0][0]
    for offset, data in by_offset:
        if offset - origin > len(joined):
            break
        joined += data[len(joined) - (offset - origin) :]
    return bytes(joined)


def _messages(data: bytes) -> Iterator[bytes]:
    """Yield the messages of DNS over TCP, each preceded by two bytes of its length (RFC 1035 section 4.2.2)."""
    while len(data) > 2:
        end = 2 + int.from_bytes(data[:2], "big")
        yield data[2:end]
        data = data[end:]


def dns_names(message: bytes) -> list[str]:
    """Return the names in the question section of a DNS query or response; an empty list for a damaged message."""
    from dpkt import dns

    with suppress(Exception):  # dpkt raises whatever its parsers meet
        questions = dns.DNS(message[:6] + bytes(6) + message[12:]).qd  # dpkt cannot read every kind of record
        return [_text(question.name) or "." for question in questions]
    return []


def tls_hello(data: bytes) -> dict[str, str]:
    """Return tls_server_name of a client hello or tls_version of a server hello; an empty dict for other data."""
    from dpkt import ssl

    with suppress(Exception):  # dpkt raises whatever its parsers meet
        message = _handshake(data)
        if message[:1] not in (bytes([CLIENT_HELLO]), bytes([SERVER_HELLO])):
            return {}
        hello = ssl.TLSHandshake(message)
        extensions = dict(getattr(hello.data, "extensions", ()))
        if hello.type == CLIENT_HELLO:
            names = extensions.get(SERVER_NAME, b"")
            name = names[5 : 5 + int.from_bytes(names[3:5], "big")]
            return {"tls_server_name": _text(name.decode("latin-1"))} if name and not names[2] else {}
        version = int.from_bytes(extensions.get(SUPPORTED_VERSIONS, hello.data.version.to_bytes(2, "big")), "big")
        draft = f"TLS 1.3 draft {version & 0xFF}" if version & 0xFF00 == TLS_DRAFT else f"0x{version:04x}"
        return {"tls_version": TLS_VERSIONS.get(version, draft)}
    return {}


def _handshake(data: bytes) -> bytes:
    """Return the contents of the handshake records at the start of a direction, without alerts between them."""
    messages = b""
    while len(data) > 5 and data[0] in (CHANGE_CIPHER, ALERT, HANDSHAKE) and data[1] == 3:
        end = 5 + int.from_bytes(data[3:5], "big")
        messages += data[5:end] if data[0] == HANDSHAKE else b""
        data = data[end:]
    return messages


def http_head(data: bytes) -> dict[str, Any]:
    """Return http_host of a request or http_status of a response; an empty dict for other data."""
    from dpkt import http

    line, _, headers = data.partition(b"\n")
    if status := RESPONSE.match(line):
        return {"http_status": int(status[1])}
    with suppress(Exception):  # dpkt raises whatever its parsers meet
        if REQUEST.match(line):
            host = http.parse_headers(BytesIO(headers)).get("host", "")
            return {"http_host": _text(host[0] if isinstance(host, list) else host)} if host else {}
    return {}


def _text(name: str) -> str:
    """Return a name from a packet as printable ASCII, other characters escaped."""
    return "".join(char if " " <= char <= "~" and char != "\\" else f"\\x{ord(char):02x}" for char in name)
