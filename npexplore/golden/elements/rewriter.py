"""IPRewriter: flows get other addresses and ports, and their replies the old ones back (RFC 3022 section 2.2, NAPT).

An input's rule: `pattern SADDR SPORT DADDR DPORT FOUT ROUT` (`-`: as it is; ports A-B: a free one), a named pattern,
`keep FOUT ROUT`, `pass OUT`, `drop`. A packet of a known flow goes by the flow's output, whatever the input.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from itertools import chain
from typing import ClassVar

from npexplore.errors import InputError
from npexplore.golden.elements.base import ANY, Element, Out, Pack, address, limited, number, truth
from npexplore.golden.elements.transport import CHECKSUM_AT, TCP, UDP, first_piece, header_updated, updated
from npexplore.golden.ipv4.five_tuple import FiveTuple, read_five_tuple
from npexplore.golden.reasons import Reason

_patterns: ContextVar[Mapping[str, list[str]] | None] = ContextVar("patterns", default=None)


@contextmanager
def patterns(entries: Iterable[str]) -> Iterator[None]:
    """Let rewriters know these named patterns, `NAME SADDR SPORT DADDR DPORT`, while a graph is made."""
    known = {}
    for entry in entries:
        name, *pattern = entry.split()
        if len(pattern) != 4:
            raise InputError(f"IPRewriterPatterns: a named pattern is NAME SADDR SPORT DADDR DPORT, got {entry!r}")
        known[name] = pattern
    token = _patterns.set(known)
    try:
        yield
    finally:
        _patterns.reset(token)


@dataclass(frozen=True)
class Pattern:
    """What a flow becomes (None: as it is; ports are those to choose from), and by which outputs both ways go."""

    source: int | None = None
    source_ports: range | None = None
    destination: int | None = None
    destination_port: int | None = None
    forth: int = 0
    back: int = 0
    prefers_own: bool = False


def read_rule(text: str) -> Pattern | int:
    """Return the pattern of an input, or the output that all of it passes by (-1: none); raises InputError."""
    kind, *rest = text.split()
    if kind in ("drop", "discard"):
        return -1
    if kind in ("pass", "passthrough", "nochange") and len(rest) < 2:
        return number(rest[0]) if rest else 0
    if kind == "pattern" and len(rest) == 3:
        known = _patterns.get() or {}
        if rest[0] not in known:
            raise InputError(f"pattern {rest[0]!r} is not named by IPRewriterPatterns")
        rest = [*known[rest[0]], *rest[1:]]
    if kind == "keep" and len(rest) == 2:
        rest = ["-", "-", "-", "-", *rest]
    if kind not in ("pattern", "keep") or len(rest) != 6:
        raise InputError(f"a rule is pattern SADDR SPORT DADDR DPORT FOUT ROUT, keep, pass or drop, got {text!r}")
    source, ports, destination, port, forth, back = rest
    first, _, last = ports.rstrip("#?").partition("-") if ports != "-" else ("", "", "")
    return Pattern(
        None if source == "-" else address(source),
        range(limited("a port", first, 0xFFFF), limited("a port", last or first, 0xFFFF) + 1) if first else None,
        None if destination == "-" else address(destination),
        None if port == "-" else limited("a port", port, 0xFFFF),
        number(forth), number(back), ports[-1] not in "#?",
    )  # fmt: skip


class IPRewriter(Element):
    """Translates addresses and ports: `IPRewriter(pattern 10.0.0.1 1024-65535 - - 0 1, drop)`.

    Packets without ports (later pieces, other protocols, short ones) pass where the input's rule is `pass`, and are
    dropped elsewhere: put an IPReassembler in front. Checksums are updated (RFC 1624), so that wrong ones stay wrong.
    DST_ANNO false: the address to send to is not noted.
    """

    INPUTS, OUTPUTS, PROCESSING, ARGUMENTS = (1, ANY), (1, ANY), "h/h", (1, ANY)
    STORES = True  # what left may come back: by then its flow is known
    PROTOCOLS: ClassVar[tuple[int, ...]] = (TCP, UDP)
    IRRELEVANT: ClassVar[Mapping[str, str]] = dict.fromkeys(
        (
            "TIMEOUT", "GUARANTEE", "REAP", "REAP_INTERVAL", "TCP_TIMEOUT", "TCP_DONE_TIMEOUT", "TCP_NODATA_TIMEOUT",
            "TCP_GUARANTEE", "UDP_TIMEOUT", "UDP_STREAMING_TIMEOUT", "UDP_GUARANTEE",
        ),
        "when flows are forgotten; no time passes between the packets of a run",
    )  # fmt: skip

    def configure(self, *arguments: str) -> None:
        """A rule for each input."""
        self.rules = [read_rule(text) for text in arguments]
        self.notes = truth("DST_ANNO", self.said.value("DST_ANNO", "true"))
        ends = [(one.forth, one.back) if isinstance(one, Pattern) else (one,) for one in self.rules]
        self.named_outputs = max((output for outputs in ends for output in outputs), default=-1) + 1
        self.flows: dict[FiveTuple[int], tuple[FiveTuple[int], int]] = {}
        self.next_port: dict[int, int] = {}  # input -> how far into its range of ports

    def take(self, pack: Pack, port: int) -> Out:
        """The packet as its flow goes; only TCP and UDP have flows."""
        packet = pack.packet
        rule = self.rules[port] if port < len(self.rules) else -1
        start = 4 * (packet[0] & 15) if packet else 0
        if len(packet) < start + 8 or packet[9] not in self.PROTOCOLS or not first_piece(packet):
            if isinstance(rule, Pattern) or rule < 0:
                return [(-1, replace(pack, reason=Reason.PROHIBITED))]
            return [(rule, pack)]
        flow = read_five_tuple(packet)
        known = self.flows.get(flow)
        if known is None:
            if not isinstance(rule, Pattern):
                return [(rule, replace(pack, reason=Reason.PROHIBITED) if rule < 0 else pack)]
            known = self._begin(flow, rule, port)
            if known is None:
                return [(-1, replace(pack, reason=Reason.PROHIBITED))]
        new, output = known
        ends = new.source.to_bytes(4, "big") + new.destination.to_bytes(4, "big")
        ports = new.source_port.to_bytes(2, "big") + new.destination_port.to_bytes(2, "big")
        target = new.destination if self.notes else pack.target
        translated = header_updated(packet[:12] + ends + packet[20:], packet[12:20], ends)
        if packet[9] == TCP and len(packet) < start + CHECKSUM_AT[TCP] + 2:  # Click leaves its ports alone then
            return [(output, pack.with_packet(translated, target=target))]
        old = packet[12:20] + packet[start : start + 4]
        translated = updated(translated[:start] + ports + packet[start + 4 :], old, ends + ports)
        return [(output, pack.with_packet(translated, target=target))]

    def _begin(self, flow: FiveTuple[int], rule: Pattern, port: int) -> tuple[FiveTuple[int], int] | None:
        """Enter a flow and its replies; return its translation, None where no port is free.

        A fixed port takes it from an earlier flow.
        """
        new = FiveTuple(
            flow.source if rule.source is None else rule.source,
            flow.destination if rule.destination is None else rule.destination,
            flow.source_port,
            flow.destination_port if rule.destination_port is None else rule.destination_port,
            flow.protocol,
        )
        choices = rule.source_ports or range(flow.source_port, flow.source_port + 1)
        begin = self.next_port.get(port, 0)
        own = (flow.source_port,) if rule.prefers_own and flow.source_port in choices else ()
        for source_port in chain(own, choices[begin:], choices[:begin]):
            new = new._replace(source_port=source_port)
            reply = _reversed(new)
            if len(choices) == 1 and reply in self.flows:
                earlier, _ = self.flows.pop(reply)
                self.flows.pop(_reversed(earlier), None)
            if reply not in self.flows:
                self.next_port[port] = (source_port - choices.start + 1) % len(choices)
                self.flows[flow], self.flows[reply] = (new, rule.forth), (_reversed(flow), rule.back)
                return new, rule.forth
        return None


def _reversed(flow: FiveTuple[int]) -> FiveTuple[int]:
    """Return the flow of the replies."""
    return FiveTuple(flow.destination, flow.source, flow.destination_port, flow.source_port, flow.protocol)


class TCPRewriter(IPRewriter):
    """The same for TCP alone; sequence numbers stay, for nothing here changes lengths."""

    PROTOCOLS: ClassVar[tuple[int, ...]] = (TCP,)
