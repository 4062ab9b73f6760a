"""What the first packets of each flow say of its application: names of DNS, TLS and HTTP, read by dpkt.

DNS (RFC 1035) on its ports; TLS (RFC 8446, 6066) and HTTP/1 (RFC 9112) by how a direction of a TCP flow begins.
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
FIRST_PACKETS = 8  # with data, of a flow
REQUEST, RESPONSE = re.compile(rb"[A-Z][A-Z-]+ .*HTTP/\d"), re.compile(rb"HTTP/\S+ +(\d{3})\b")
CHANGE_CIPHER, ALERT, HANDSHAKE = 20, 21, 22  # records
CLIENT_HELLO, SERVER_HELLO = 1, 2  # messages
SERVER_NAME, SUPPORTED_VERSIONS = 0, 43  # extensions
TLS_VERSIONS = {0x300: "SSL 3.0", 0x301: "TLS 1.0", 0x302: "TLS 1.1", 0x303: "TLS 1.2", 0x304: "TLS 1.3"}
TLS_DRAFT = 0x7F00
Piece = tuple[bool, int, bytes]  # against the flow's first packet; sequence number; data


def application_columns(files: Files, table: PacketTable, ways: Directions, words: Words) -> dict[str, Any]:
    """Return the columns dns_names, tls_server_name, tls_version, http_host and http_status, one element a flow.

    ways and words: of the same packets. Read are the first 8 packets with data of each flow; the files are read once
    more. Elements are missing where these packets do not have them, or are damaged.
    """
    import pandas as pd

    flows = int(ways.number.max()) + 1 if len(ways.number) else 0
    answers: dict[int, dict[str, Any]] = {}
    pieces: dict[int, list[Piece]] = {}
    first = np.unique(ways.number, return_index=True)[1]
    protocol, ports = ways.tuples["ip_proto"][first], (ways.tuples["sport"][first], ways.tuples["dport"][first])
    asks = np.isin(ports[0], DNS_PORTS) | np.isin(ports[1], DNS_PORTS)
    for flow, piece in _data(files, table, _first_packets(table, ways, words, asks)):
        pieces.setdefault(flow, []).append(piece)
    for flow, parts in pieces.items():
        datagrams = [data for _, _, data in parts] if protocol[flow] == UDP else []
        answers[flow] = _named(datagrams, parts, asks=bool(asks[flow]))

    def column(name: str, kind: str) -> pd.api.extensions.ExtensionArray:
        return pd.array([answers.get(flow, {}).get(name, pd.NA) for flow in range(flows)], dtype=kind)

    text = ("dns_names", "tls_server_name", "tls_version", "http_host")
    return {**{name: column(name, "string") for name in text}, "http_status": column("http_status", "Int64")}


def _first_packets(
    table: PacketTable, ways: Directions, words: Words, asks: NDArray[np.bool_]
) -> dict[str, NDArray[np.int64]]:
    """Return row, flow, direction, sequence number and place of data of the packets to read, in order of rows."""
    l3, l4 = (table[name].astype(np.int64) for name in ("l3_offset", "l4_offset"))
    end = l3 + table["l3_length"].astype(np.int64)
    start, sequence = np.full(table.rows, NO_OFFSET, np.int64), np.zeros(table.rows, np.int64)
    udp = (table["ip_proto"] == UDP) & table["has_ports"] & (l4 != NO_OFFSET)
    start[udp] = l4[udp] + UDP_HEADER
    start[words["row"]] = end[words["row"]] - words["payload"]
    sequence[words["row"]] = words["seq"]
    end = np.minimum(end, table["captured"].astype(np.int64))
    of_tcp = ways.tuples["ip_proto"] == TCP
    k = np.flatnonzero((end > start)[ways.rows] & (of_tcp | asks[ways.number]))
    order = np.argsort(ways.number[k], kind="stable")
    flow = ways.number[k][order]
    begins = np.flatnonzero(np.r_[True, flow[1:] != flow[:-1]]) if len(flow) else np.empty(0, np.int64)
    place = np.arange(len(flow)) - np.repeat(begins, np.diff(np.r_[begins, len(flow)]))
    k = np.sort(k[order[place < FIRST_PACKETS]])
    rows = ways.rows[k]
    columns = {"row": rows, "flow": ways.number[k], "back": ways.back[k].astype(np.int64)}
    return columns | {"sequence": sequence[rows], "start": start[rows], "end": end[rows]}


def _data(files: Files, table: PacketTable, chosen: dict[str, NDArray[np.int64]]) -> Iterator[tuple[int, Piece]]:
    """Yield flow and data of each chosen packet."""
    before = 0
    for part, (data, base) in open_captures(files).each(lambda part, data, base: (data, base)):
        some = slice(*np.searchsorted(chosen["row"], (before, before + part.rows)))
        position = part["position"][chosen["row"][some] - before] - base
        rows = zip(*(chosen[name][some].tolist() for name in ("flow", "back", "sequence", "start", "end")), strict=True)
        for at, (flow, back, sequence, start, end) in zip(position.tolist(), rows, strict=True):
            yield flow, (bool(back), sequence, data[at + start : at + end].tobytes())
        before += part.rows


def _named(datagrams: list[bytes], parts: list[Piece], *, asks: bool) -> dict[str, Any]:
    """Return what a flow's first packets say, name of the column -> value."""
    answer: dict[str, Any] = {}
    streams = [] if datagrams else [stream(part[1:] for part in parts if part[0] == back) for back in (False, True)]
    if asks:
        for one in streams:
            datagrams = datagrams + list(_messages(one))
        names = dict.fromkeys(name for one in datagrams for name in dns_names(one))
        answer |= {"dns_names": ",".join(names)} if names else {}
    for one in streams:
        answer = {**tls_hello(one), **http_head(one), **answer}
    return answer


def stream(pieces: Iterable[tuple[int, bytes]]) -> bytes:
    """Return the data of one direction without gaps: (sequence number, data) of segments in any order."""
    parts = list(pieces)
    if not parts:
        return b""
    begin = parts[0][0]
    placed = sorted(((sequence - begin + (1 << 31)) % (1 << 32), data) for sequence, data in parts)
    joined, origin = bytearray(), placed[0][0]
    for at, data in placed:
        if at - origin > len(joined):
            break
        joined += data[len(joined) - (at - origin) :]
    return bytes(joined)


def _messages(data: bytes) -> Iterator[bytes]:
    """Yield what DNS over TCP sends: messages behind two bytes of their length (RFC 1035 section 4.2.2)."""
    while len(data) > 2:
        end = 2 + int.from_bytes(data[:2], "big")
        yield data[2:end]
        data = data[end:]


def dns_names(message: bytes) -> list[str]:
    """Return the names that a DNS message asks for, or whose questions it repeats; none of a damaged one."""
    from dpkt import dns

    with suppress(Exception):  # dpkt raises whatever its parsers meet
        questions = dns.DNS(message[:6] + bytes(6) + message[12:]).qd  # without records, of which it knows a part
        return [_text(question.name) or "." for question in questions]
    return []


def tls_hello(data: bytes) -> dict[str, str]:
    """Return tls_server_name of a client's hello, tls_version of a server's; nothing of other data."""
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
    """Return the contents of the handshake records with which a direction begins, alerts between them left out."""
    messages = b""
    while len(data) > 5 and data[0] in (CHANGE_CIPHER, ALERT, HANDSHAKE) and data[1] == 3:
        end = 5 + int.from_bytes(data[3:5], "big")
        messages += data[5:end] if data[0] == HANDSHAKE else b""
        data = data[end:]
    return messages


def http_head(data: bytes) -> dict[str, Any]:
    """Return http_host of a request, http_status of a response; nothing of other data."""
    from dpkt import http

    line, _, rest = data.partition(b"\n")
    if status := RESPONSE.match(line):
        return {"http_status": int(status[1])}
    with suppress(Exception):  # dpkt raises whatever its parsers meet
        if REQUEST.match(line):
            host = http.parse_headers(BytesIO(rest)).get("host", "")
            return {"http_host": _text(host[0] if isinstance(host, list) else host)} if host else {}
    return {}


def _text(name: str) -> str:
    """Return a name from a packet as printable ASCII, other characters escaped."""
    return "".join(c if " " <= c <= "~" and c != "\\" else f"\\x{ord(c):02x}" for c in name)
