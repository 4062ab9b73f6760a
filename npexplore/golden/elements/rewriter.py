"""IPRewriter: flows get other addresses and ports, and their replies the old ones back (RFC 3022 section 2.2, NAPT).

An input's rule: `pattern SADDR SPORT DADDR DPORT FOUT ROUT` (`-`: as it is; ports A-B: a free one), a named pattern,
`keep FOUT ROUT`, `pass OUT`, `drop`. A packet of a known flow goes by the flow's output, whatever the input.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import ClassVar

from npexplore.errors import InputError
from npexplore.golden.elements.base import ANY, Element, Out, Pack, address, limited, number
from npexplore.golden.elements.transport import TCP, UDP, summed
from npexplore.golden.ipv4.five_tuple import FiveTuple, read_five_tuple
from npexplore.golden.ipv4.header import with_checksum
from npexplore.golden.reasons import Reason

_patterns: ContextVar[Mapping[str, str] | None] = ContextVar("patterns", default=None)


@contextmanager
def patterns(entries: Iterable[str]) -> Iterator[None]:
    """Let rewriters know these named patterns, `NAME SADDR SPORT DADDR DPORT`, while a graph is made."""
    token = _patterns.set(dict(entry.split(None, 1) for entry in entries))
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


def read_rule(text: str) -> Pattern | int:
    """Return the pattern of an input, or the output that all of it passes by (-1: none); raises InputError."""
    kind, *rest = text.split()
    if kind in ("drop", "discard"):
        return -1
    if kind in ("pass", "passthrough"):
        return number(rest[0]) if rest else 0
    if kind == "pattern" and len(rest) == 3:
        known = _patterns.get() or {}
        if rest[0] not in known:
            raise InputError(f"pattern {rest[0]!r} is not named by IPRewriterPatterns")
        rest = [*known[rest[0]].split(), *rest[1:]]
    if kind in ("keep", "nochange") and len(rest) == 2:
        rest = ["-", "-", "-", "-", *rest]
    if kind not in ("pattern", "keep", "nochange") or len(rest) != 6:
        raise InputError(f"a rule is pattern SADDR SPORT DADDR DPORT FOUT ROUT, keep, pass or drop, got {text!r}")
    source, ports, destination, port, forth, back = rest
    first, _, last = ports.rstrip("#?").partition("-") if ports != "-" else ("", "", "")
    return Pattern(
        None if source == "-" else address(source),
        range(limited("a port", first, 0xFFFF), limited("a port", last or first, 0xFFFF) + 1) if first else None,
        None if destination == "-" else address(destination),
        None if port == "-" else limited("a port", port, 0xFFFF),
        number(forth), number(back),
    )  # fmt: skip


class IPRewriter(Element):
    """Translates addresses and ports: `IPRewriter(pattern 10.0.0.1 1024-65535 - - 0 1, drop)`."""

    INPUTS, OUTPUTS, PROCESSING, ARGUMENTS = (1, ANY), (1, ANY), "h/h", (1, ANY)
    STORES = True  # what left may come back: by then its flow is known
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
        ends = [(one.forth, one.back) if isinstance(one, Pattern) else (one,) for one in self.rules]
        self.named_outputs = max((output for outputs in ends for output in outputs), default=-1) + 1
        self.flows: dict[FiveTuple[int], tuple[FiveTuple[int], int]] = {}

    def take(self, pack: Pack, port: int) -> Out:
        """The packet as its flow goes; only TCP and UDP have flows."""
        if len(pack.data) < 24 or pack.data[9] not in (TCP, UDP):
            return [(-1, replace(pack, reason=Reason.NOT_IPV4))]
        flow = read_five_tuple(pack.data)
        if flow not in self.flows:
            rule = self.rules[port] if port < len(self.rules) else -1
            if not isinstance(rule, Pattern):
                return [(rule, replace(pack, reason=Reason.PROHIBITED) if rule < 0 else pack)]
            if not self._begin(flow, rule):
                return [(-1, replace(pack, reason=Reason.PROHIBITED))]
        new, output = self.flows[flow]
        start = 4 * (pack.data[0] & 15)
        ends = new.source.to_bytes(4, "big") + new.destination.to_bytes(4, "big")
        ports = new.source_port.to_bytes(2, "big") + new.destination_port.to_bytes(2, "big")
        none = pack.data[9] == UDP and pack.data[start + 6 : start + 8] == bytes(2)  # RFC 768: no checksum
        data = with_checksum(pack.data[:12] + ends + pack.data[20:start]) + ports + pack.data[start + 4 :]
        return [(output, replace(pack, data=data if none else summed(data), target=new.destination))]

    def _begin(self, flow: FiveTuple[int], rule: Pattern) -> bool:
        """Enter a flow and its replies; return whether a port was free."""
        for source_port in rule.source_ports or (flow.source_port,):
            new = FiveTuple(
                flow.source if rule.source is None else rule.source,
                flow.destination if rule.destination is None else rule.destination,
                source_port,
                flow.destination_port if rule.destination_port is None else rule.destination_port,
                flow.protocol,
            )
            reply = FiveTuple(new.destination, new.source, new.destination_port, new.source_port, new.protocol)
            if reply not in self.flows:
                was = FiveTuple(flow.destination, flow.source, flow.destination_port, flow.source_port, flow.protocol)
                self.flows[flow], self.flows[reply] = (new, rule.forth), (was, rule.back)
                return True
        return False


class TCPRewriter(IPRewriter):
    """The same for TCP; sequence numbers stay, for nothing here changes lengths."""
