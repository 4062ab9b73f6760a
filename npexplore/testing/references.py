"""Judges other than the golden router: the rules of a filter, and a graph of Click elements.

A judge returns for (port, frame) the expected outcome and the rule that decides it, or None for a frame that it does
not judge. A filter is judged by the frames that it lets pass; a frame that passes is sent unchanged.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from ipaddress import IPv4Network
from pathlib import Path
from typing import Any, NamedTuple

from hypothesis import strategies as st

from npexplore.errors import InputError, one_of
from npexplore.golden.classify.linear import LinearSearch
from npexplore.golden.classify.rule_files import load_rules
from npexplore.golden.classify.rules import CLASSES, Rules, class_number
from npexplore.golden.classify.rules import Rule as FilterRule
from npexplore.golden.elements.graph import Graph
from npexplore.golden.ethernet import ETHERNET, IPV4_TYPE
from npexplore.golden.ipv4.five_tuple import PROTOCOLS, WITH_PORTS, read_five_tuple
from npexplore.golden.ipv4.header import SHORTEST, read_header
from npexplore.golden.reasons import Reason
from npexplore.golden.router.configuration import Router
from npexplore.golden.router.walk import Outcome, Sent
from npexplore.testing.drawing import Case
from npexplore.testing.probes import packet
from npexplore.testing.routers import frames
from npexplore.testing.rule_catalogue import Rule
from npexplore.testing.rule_strategies import headers_near

MATCHED, UNMATCHED = "matched", "unmatched"  # packets that a rule matches, packets that no rule matches
MAX_NAMED, LAST_PORT = 200, 65535  # rules from a graph's addresses and ports; largest port
HOST = "self"  # exit of a graph to the machine itself
LEAVES = ("device", "switch")  # exits of a graph by a port


class Judgement(NamedTuple):
    """The expected outcome of a frame. rule: the filter rule that decides it; None: the outcome is a router's."""

    outcome: Outcome
    rule: Rule | None = None


Judge = Callable[[int, bytes], "Judgement | None"]


def passes(port: int, frame: bytes, *, rule: Rule, dropped: bool) -> Judgement:
    """Return the judgement that a filter should drop a frame, or let it pass unchanged."""
    sent = () if dropped else (Sent(port, frame),)
    return Judgement(Outcome(Reason.NONE, sent), Rule(rule.clause, f"{rule.subject} {_fate(dropped)}"))


def _fate(dropped: bool) -> str:
    return "are dropped" if dropped else "pass"


class RulesJudge:
    """Judges a filter by a list of rules, of which the first match decides; only well-formed IPv4 packets are judged.

    rules: the rules, or their file (TOML or ClassBench). drop: which packets are dropped: `matched` (the default),
    `unmatched`, or names of classes. Later fragments have ports 0, as in all five-tuples of the package. Raises
    InputError for another word in `drop`.

    Example:
        >>> from npexplore.golden import generate_rules
        >>> from npexplore.testing import RulesJudge
        >>> RulesJudge(generate_rules(4, "access", seed=1), drop=["unmatched"])(0, bytes(60)) is None  # no IPv4
        True
    """

    def __init__(self, rules: Rules | str | Path, *, drop: Collection[str] = (MATCHED,)) -> None:
        self.rules = rules if isinstance(rules, Rules) else load_rules(rules)
        words = {one_of("drop: packets to drop", word, (MATCHED, UNMATCHED, *CLASSES)) for word in drop}
        self._classes = {class_number(word) for word in words - {MATCHED, UNMATCHED}}
        self._all, self._others = MATCHED in words, UNMATCHED in words
        self._search = LinearSearch(self.rules)

    def __repr__(self) -> str:
        return f"RulesJudge({len(self.rules)} rules of {self.rules.origin})"

    def __call__(self, port: int, frame: bytes) -> Judgement | None:
        """Return whether a frame should pass, by the first rule that matches it."""
        if frame[ETHERNET - 2 : ETHERNET] != IPV4_TYPE or not _is_sound(frame[ETHERNET:]):
            return None
        number = self._search.match(read_five_tuple(frame[ETHERNET:]))
        if number is None:
            return passes(port, frame, rule=Rule(self.rules.origin, "packets of no rule"), dropped=self._others)
        dropped = self._all or self.rules[number].dscp in self._classes
        return passes(port, frame, rule=Rule(f"{self.rules.origin} rule {number + 1}", "its packets"), dropped=dropped)

    def cases(self, router: Router) -> st.SearchStrategy[Case]:
        """Return a strategy for frames near the borders of the rules, and some usual frames of a router."""
        return _near(self.rules, router, range(len(router.ports)))


def _near(
    rules: Rules, router: Router, ports: Sequence[int], stamps: Sequence[tuple[int, bytes]] = ()
) -> st.SearchStrategy[Case]:
    """Draw frames near the borders of the rules, usual frames of a router, and usual frames with stamped octets."""
    heads = headers_near(rules, max_size=1)
    near_rules = st.builds(lambda port, head: (port, _frame_of(router, port, head[0])), st.sampled_from(ports), heads)
    usual = st.integers(0, len(ports) - 1).flatmap([frames(router, port=port) for port in ports].__getitem__)
    if not stamps:
        return st.integers(0, 3).flatmap(lambda k: usual if k == 0 else near_rules)
    stamped = st.builds(_stamped, usual, st.sampled_from(stamps))
    return st.integers(0, 3).flatmap([usual, near_rules, stamped, near_rules].__getitem__)


def _stamped(case: Case, stamp: tuple[int, bytes]) -> Case:
    (port, frame), (at, octets) = case, stamp
    return port, frame[:at].ljust(at, b"\0") + octets + frame[at + len(octets) :]


def _is_sound(data: bytes) -> bool:
    """Return whether octets are an IPv4 packet with possible lengths."""
    head = read_header(data)
    return head.version == 4 and SHORTEST <= head.header_length <= head.total_length <= len(data)


def _frame_of(router: Router, port: int, head: Any) -> bytes:
    link = router.ports[port]
    port_numbers = b"".join(int(number).to_bytes(2, "big") for number in (head.source_port, head.destination_port))
    payload = port_numbers + b"\0\x0c\0\0" + bytes(12) if head.protocol in WITH_PORTS else bytes(20)
    data = packet(int(head.source), int(head.destination), payload, protocol=int(head.protocol))
    return link.mac + link.peer_mac + IPV4_TYPE + data


def _named(text: str) -> Iterator[FilterRule]:
    """Yield rules for each address, prefix and port in a graph's arguments, as source and as destination."""
    protocols = [PROTOCOLS[name] for name in ("udp", "tcp") if name in text] or [PROTOCOLS["udp"]]
    for word in dict.fromkeys(re.findall(r"\d+\.\d+\.\d+\.\d+(?:/\d{1,2}(?![\d.]))?", text)):
        try:
            network = IPv4Network(word, strict=False)
        except ValueError:  # a mask, a version, or other four numbers
            continue
        ends = int(network.network_address), int(network.broadcast_address)
        yield from (FilterRule(source=ends), FilterRule(destination=ends))
    for number in dict.fromkeys(int(digits) for digits in re.findall(r"(?<![\d./])\d{1,5}(?![\d./])", text)):
        if number <= LAST_PORT:
            for protocol in protocols:
                port_range = number, number
                yield FilterRule(destination_port=port_range, protocol=(protocol, protocol))
                yield FilterRule(source_port=port_range, protocol=(protocol, protocol))


class GraphJudge:
    """Judges a program by a graph of Click elements: octets and ports, or only whether a packet passes.

    graph: a graph, or its `.click` file. router: the router whose ports are the graph's devices, matched by name, or by
    order if no name matches. verdicts: True: packets that leave by a device or to the host pass, others are dropped;
    False: packets that leave by a device must be sent like that, and packets to the host are not judged. Raises
    InputError for a device that is not a port.

    Example:
        >>> from npexplore.golden import Graph, load_router
        >>> from npexplore.testing import GraphJudge
        >>> graph = Graph.read("FromDevice(in) -> Queue -> ToDevice(out);")
        >>> GraphJudge(graph, load_router("through"))(0, bytes(60)).outcome.sent[0].port
        1
    """

    def __init__(self, graph: Graph | str | Path, router: Router, *, verdicts: bool = False) -> None:
        self.graph = graph if isinstance(graph, Graph) else Graph.load(graph)
        self.verdicts = verdicts
        entries = list(self.graph.entries())
        leaves = [
            str(getattr(element, "device", name))
            for name, element in self.graph.elements.items()
            if element.EXIT in LEAVES
        ]
        devices, ports = list(dict.fromkeys([*entries, *leaves])), {port.name: port.number for port in router.ports}
        if not ports.keys() & {*devices}:
            ports = dict(zip(devices, range(len(router.ports)), strict=False))
        if missing := [name for name in devices if name not in ports]:
            raise InputError(f"device {missing[0]!r} of the graph is no port of the router, which has "
                             f"{', '.join(port.name for port in router.ports)}; name its configuration")  # fmt: skip
        self._ports, self._names = ports, {number: name for name, number in ports.items() if name in entries}

    def __repr__(self) -> str:
        return f"GraphJudge({len(self.graph.elements)} elements, verdicts={self.verdicts})"

    def __call__(self, port: int, frame: bytes) -> Judgement | None:
        """Return the judgement of the graph; None if the port has no device, or for an unjudged packet to the host."""
        if port not in self._names:
            return None
        ends = self.graph.run(self._names[port], frame)
        sent_ends = [end for end in ends if end.exit in LEAVES]
        if self.verdicts:
            deciding = next((end for end in ends if end.exit in (*LEAVES, HOST)), ends[0])
            rule = Rule(deciding.path[-1], "packets that end here")
            return passes(port, frame, rule=rule, dropped=deciding.exit not in (*LEAVES, HOST))
        if any(end.exit == HOST for end in ends):
            return None
        sent = tuple(Sent(self._ports[self._device(end.path[-1])], end.pack.data) for end in sent_ends)
        reason = next((end.pack.reason for end in ends if end.pack.reason), Reason.NONE)
        return Judgement(Outcome(Reason.NONE if sent else reason, sent))

    def cases(self, router: Router) -> st.SearchStrategy[Case]:
        """Return a strategy for frames near the graph's addresses and ports, and some usual frames of a router."""
        elements = self.graph.elements.values()
        text = " ".join(word for element in elements for word in element.arguments)
        patterns = " ".join(word for element in elements if element.kind == "Classifier" for word in element.arguments)
        stamps = [
            (int(at), bytes.fromhex(octets)) for at, octets in re.findall(r"(\d+)/((?:[0-9a-fA-F]{2})+)", patterns)
        ]
        return _near(Rules.of([FilterRule(), *_named(text)][:MAX_NAMED]), router, sorted(self._names), stamps)

    def _device(self, element: str) -> str:
        return str(getattr(self.graph.elements[element], "device", element))
