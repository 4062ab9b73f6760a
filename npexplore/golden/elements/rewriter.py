"""IPRewriter: translates addresses and ports of flows, and translates their replies back (RFC 3022 section 2.2, NAPT).

An input's rule: `pattern SADDR SPORT DADDR DPORT FOUT ROUT` (`-`: unchanged; ports A-B: any free one), a named pattern,
`keep FOUT ROUT`, `pass OUT`, `drop`. A packet of a known flow leaves by the flow's output, for any input.
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
    """Make the named patterns `NAME SADDR SPORT DADDR DPORT` known to rewriters while a graph is built."""
    patterns_by_name = {}
    for entry in entries:
        name, *pattern = entry.split()
        if len(pattern) != 4:
            raise InputError(f"IPRewriterPatterns: a named pattern is NAME SADDR SPORT DADDR DPORT, got {entry!r}")
        patterns_by_name[name] = pattern
    token = _patterns.set(patterns_by_name)
    try:
        yield
    finally:
        _patterns.reset(token)


@dataclass(frozen=True)
class Pattern:
    """The translation of a flow (None: unchanged; source_ports: to choose from), and the outputs of both directions."""

    source: int | None = None
    source_ports: range | None = None
    destination: int | None = None
    destination_port: int | None = None
    forth: int = 0
    back: int = 0
    prefers_own: bool = False


def read_rule(text: str) -> Pattern | int:
    """Return the pattern of an input, or the output of all its packets (-1: drop); raises InputError."""
    kind, *rest = text.split()
    if kind in ("drop", "discard"):
        return -1
    if kind in ("pass", "passthrough", "nochange") and len(rest) < 2:
        return number(rest[0]) if rest else 0
    if kind == "pattern" and len(rest) == 3:
        patterns_by_name = _patterns.get() or {}
        if rest[0] not in patterns_by_name:
            raise InputError(f"pattern {rest[0]!r} is not named by IPRewriterPatterns")
        rest = [*patterns_by_name[rest[0]], *rest[1:]]
    if kind == "keep" and len(rest) == 2:
        rest = ["-", "-", "-", "-", *rest]
    if kind not in ("pattern", "keep") or len(rest) != 6:
        raise InputError(f"a rule is pattern SADDR SPORT DADDR DPORT FOUT ROUT, keep, pass or drop, got {text!r}")
    source, ports, destination, port, forward_output, reply_output = rest
    low, _, high = ports.rstrip("#?").partition("-") if ports != "-" else ("", "", "")
    return Pattern(
        None if source == "-" else address(source),
        range(limited("a port", low, 0xFFFF), limited("a port", high or low, 0xFFFF) + 1) if low else None,
        None if destination == "-" else address(destination),
        None if port == "-" else limited("a port", port, 0xFFFF),
        number(forward_output), number(reply_output), ports[-1] not in "#?",
    )  # fmt: skip


class IPRewriter(Element):
    """Translates addresses and ports: `IPRewriter(pattern 10.0.0.1 1024-65535 - - 0 1, drop)`.

    Packets without ports (later fragments, other protocols, short ones) pass if the input's rule is `pass`, and are
    dropped otherwise: put an IPReassembler in front. Checksums are updated (RFC 1624), so that wrong ones stay wrong.
    DST_ANNO false: the destination annotation is not set.
    """

    INPUTS, OUTPUTS, PROCESSING, ARGUMENTS = (1, ANY), (1, ANY), "h/h", (1, ANY)
    STORES = True  # a cycle is safe: on return the packet's flow is known
    PROTOCOLS: ClassVar[tuple[int, ...]] = (TCP, UDP)
    IRRELEVANT: ClassVar[Mapping[str, str]] = dict.fromkeys(
        (
            "TIMEOUT", "GUARANTEE", "REAP", "REAP_INTERVAL", "TCP_TIMEOUT", "TCP_DONE_TIMEOUT", "TCP_NODATA_TIMEOUT",
            "TCP_GUARANTEE", "UDP_TIMEOUT", "UDP_STREAMING_TIMEOUT", "UDP_GUARANTEE",
        ),
        "when flows are forgotten; no time passes between the packets of a run",
    )  # fmt: skip

    def configure(self, *arguments: str) -> None:
        """Read the rule of each input."""
        self.rules = [read_rule(text) for text in arguments]
        self.notes = truth("DST_ANNO", self.said.value("DST_ANNO", "true"))
        outputs_of_rules = [(rule.forth, rule.back) if isinstance(rule, Pattern) else (rule,) for rule in self.rules]
        self.named_outputs = max((output for outputs in outputs_of_rules for output in outputs), default=-1) + 1
        self.flows: dict[FiveTuple[int], tuple[FiveTuple[int], int]] = {}
        self.next_port: dict[int, int] = {}  # by input: index of the next port to try in its range

    def take(self, pack: Pack, port: int) -> Out:
        """Return the packet translated as its flow; only TCP and UDP have flows."""
        packet = pack.packet
        rule = self.rules[port] if port < len(self.rules) else -1
        start = 4 * (packet[0] & 15) if packet else 0
        if len(packet) < start + 8 or packet[9] not in self.PROTOCOLS or not first_piece(packet):
            if isinstance(rule, Pattern) or rule < 0:
                return [(-1, replace(pack, reason=Reason.PROHIBITED))]
            return [(rule, pack)]
        flow = read_five_tuple(packet)
        translation = self.flows.get(flow)
        if translation is None:
            if not isinstance(rule, Pattern):
                return [(rule, replace(pack, reason=Reason.PROHIBITED) if rule < 0 else pack)]
            translation = self._begin(flow, rule, port)
            if translation is None:
                return [(-1, replace(pack, reason=Reason.PROHIBITED))]
        new_flow, output = translation
        ends = new_flow.source.to_bytes(4, "big") + new_flow.destination.to_bytes(4, "big")
        ports = new_flow.source_port.to_bytes(2, "big") + new_flow.destination_port.to_bytes(2, "big")
        target = new_flow.destination if self.notes else pack.target
        translated = header_updated(packet[:12] + ends + packet[20:], packet[12:20], ends)
        if packet[9] == TCP and len(packet) < start + CHECKSUM_AT[TCP] + 2:  # as in Click, ports stay
            return [(output, pack.with_packet(translated, target=target))]
        old_ends = packet[12:20] + packet[start : start + 4]
        translated = updated(translated[:start] + ports + packet[start + 4 :], old_ends, ends + ports)
        return [(output, pack.with_packet(translated, target=target))]

    def _begin(self, flow: FiveTuple[int], rule: Pattern, port: int) -> tuple[FiveTuple[int], int] | None:
        """Store a flow and its reply flow; return its translation and output, None if no port is free.

        If there is only one port to choose, an earlier flow with this port is removed.
        """
        new_flow = FiveTuple(
            flow.source if rule.source is None else rule.source,
            flow.destination if rule.destination is None else rule.destination,
            flow.source_port,
            flow.destination_port if rule.destination_port is None else rule.destination_port,
            flow.protocol,
        )
        choices = rule.source_ports or range(flow.source_port, flow.source_port + 1)
        start = self.next_port.get(port, 0)
        preferred_ports = (flow.source_port,) if rule.prefers_own and flow.source_port in choices else ()
        for source_port in chain(preferred_ports, choices[start:], choices[:start]):
            new_flow = new_flow._replace(source_port=source_port)
            reply = _reversed(new_flow)
            if len(choices) == 1 and reply in self.flows:
                earlier, _ = self.flows.pop(reply)
                self.flows.pop(_reversed(earlier), None)
            if reply not in self.flows:
                self.next_port[port] = (source_port - choices.start + 1) % len(choices)
                self.flows[flow], self.flows[reply] = (new_flow, rule.forth), (_reversed(flow), rule.back)
                return new_flow, rule.forth
        return None


def _reversed(flow: FiveTuple[int]) -> FiveTuple[int]:
    """Return the flow of the opposite direction."""
    return FiveTuple(flow.destination, flow.source, flow.destination_port, flow.source_port, flow.protocol)


class TCPRewriter(IPRewriter):
    """IPRewriter for TCP only; sequence numbers stay, because no element changes lengths."""

    PROTOCOLS: ClassVar[tuple[int, ...]] = (TCP,)
