"""References other than the golden router: rules of a filter, and a graph of Click elements, each a judge of frames.

A judge says for (port, frame) what should happen, and by which rule; None: it has nothing to say of this frame. A
filter is judged by what it lets pass: a frame that is to pass goes on as it came.
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

MATCHED, UNMATCHED = "matched", "unmatched"  # packets that some rule matches, and those that none does
MAX_NAMED, LAST_PORT = 200, 65535  # rules of a graph's addresses and ports near which frames are drawn
HOST = "self"  # exit of a graph to the machine itself
LEAVES = ("device", "switch")  # exits of a graph by a port


class Judgement(NamedTuple):
    """What should happen with a frame. rule: what decides if a filter lets it pass; None: the outcome is a router's."""

    outcome: Outcome
    rule: Rule | None = None


Judge = Callable[[int, bytes], "Judgement | None"]


def passes(port: int, frame: bytes, *, rule: Rule, dropped: bool) -> Judgement:
    """Return what a filter should do with a frame: drop it, or let it go on as it came."""
    sent = () if dropped else (Sent(port, frame),)
    return Judgement(Outcome(Reason.NONE, sent), Rule(rule.clause, f"{rule.subject} {_fate(dropped)}"))


def _fate(dropped: bool) -> str:
    return "are dropped" if dropped else "pass"


class RulesJudge:
    """Judges a filter by a file of rules, of which the first that matches decides; only sound IPv4 packets are judged.

    rules: the rules, or their file (TOML or ClassBench). drop: whose packets are dropped: `matched` (the default) and
    `unmatched` packets, or those of some classes. Later fragments have ports 0, as in any five-tuple of the package.
    Raises InputError for another word in `drop`.

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
        """Return whether a frame is to pass, by the rule that matches it."""
        if frame[ETHERNET - 2 : ETHERNET] != IPV4_TYPE or not _is_sound(frame[ETHERNET:]):
            return None
        number = self._search.match(read_five_tuple(frame[ETHERNET:]))
        if number is None:
            return passes(port, frame, rule=Rule(self.rules.origin, "packets of no rule"), dropped=self._others)
        dropped = self._all or self.rules[number].dscp in self._classes
        return passes(port, frame, rule=Rule(f"{self.rules.origin} rule {number + 1}", "its packets"), dropped=dropped)

    def cases(self, router: Router) -> st.SearchStrategy[Case]:
        """Return a strategy for frames near the rules' borders, and some of a router's."""
        return _near(self.rules, router, range(len(router.ports)))


def _near(
    rules: Rules, router: Router, ports: Sequence[int], stamps: Sequence[tuple[int, bytes]] = ()
) -> st.SearchStrategy[Case]:
    """Draw frames near the rules' borders, usual ones of a router, and such with octets stamped at a place."""
    heads = headers_near(rules, max_size=1)
    near = st.builds(lambda port, head: (port, _frame_of(router, port, head[0])), st.sampled_from(ports), heads)
    usual = st.integers(0, len(ports) - 1).flatmap([frames(router, port=port) for port in ports].__getitem__)
    if not stamps:
        return st.integers(0, 3).flatmap(lambda k: usual if k == 0 else near)
    stamped = st.builds(_stamped, usual, st.sampled_from(stamps))
    return st.integers(0, 3).flatmap([usual, near, stamped, near].__getitem__)


def _stamped(case: Case, stamp: tuple[int, bytes]) -> Case:
    (port, frame), (at, octets) = case, stamp
    return port, frame[:at].ljust(at, b"\0") + octets + frame[at + len(octets) :]


def _is_sound(data: bytes) -> bool:
    """Say whether octets are an IPv4 packet whose lengths are possible."""
    head = read_header(data)
    return head.version == 4 and SHORTEST <= head.header_length <= head.total_length <= len(data)


def _frame_of(router: Router, port: int, head: Any) -> bytes:
    own = router.ports[port]
    ends = b"".join(int(one).to_bytes(2, "big") for one in (head.source_port, head.destination_port))
    payload = ends + b"\0\x0c\0\0" + bytes(12) if head.protocol in WITH_PORTS else bytes(20)
    data = packet(int(head.source), int(head.destination), payload, protocol=int(head.protocol))
    return own.mac + own.peer_mac + IPV4_TYPE + data


def _named(text: str) -> Iterator[FilterRule]:
    """Yield a rule for each address, prefix and port that a graph's arguments name, as source and as destination."""
    protocols = [PROTOCOLS[name] for name in ("udp", "tcp") if name in text] or [PROTOCOLS["udp"]]
    for word in dict.fromkeys(re.findall(r"\d+\.\d+\.\d+\.\d+(?:/\d{1,2}(?![\d.]))?", text)):
        try:
            network = IPv4Network(word, strict=False)
        except ValueError:  # a mask, a version, any other four numbers
            continue
        ends = int(network.network_address), int(network.broadcast_address)
        yield from (FilterRule(source=ends), FilterRule(destination=ends))
    for number in dict.fromkeys(int(one) for one in re.findall(r"(?<![\d./])\d{1,5}(?![\d./])", text)):
        if number <= LAST_PORT:
            for protocol in protocols:
                same = number, number
                yield FilterRule(destination_port=same, protocol=(protocol, protocol))
                yield FilterRule(source_port=same, protocol=(protocol, protocol))


class GraphJudge:
    """Judges a program by a graph of Click elements: octets and ports, or only whether a packet passes.

    graph: a graph, or its `.click` file. router: whose ports are the graph's devices: those of their names, or the n-th
    device port n if none has such a name. verdicts: what leaves by a device or to the host passes, all else is dropped.
    Otherwise what leaves by a device is to be sent so, and what goes to the host is not judged. Raises InputError for a
    device that is no port.

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
        leaves = [str(getattr(one, "device", name)) for name, one in self.graph.elements.items() if one.EXIT in LEAVES]
        devices, ports = list(dict.fromkeys([*entries, *leaves])), {one.name: one.number for one in router.ports}
        if not ports.keys() & {*devices}:
            ports = dict(zip(devices, range(len(router.ports)), strict=False))
        if missing := [name for name in devices if name not in ports]:
            raise InputError(f"device {missing[0]!r} of the graph is no port of the router, which has "
                             f"{', '.join(one.name for one in router.ports)}; name its configuration")  # fmt: skip
        self._ports, self._names = ports, {number: name for name, number in ports.items() if name in entries}

    def __repr__(self) -> str:
        return f"GraphJudge({len(self.graph.elements)} elements, verdicts={self.verdicts})"

    def __call__(self, port: int, frame: bytes) -> Judgement | None:
        """Return what the graph does with a frame; None where nothing enters, or goes to the host and is not judged."""
        if port not in self._names:
            return None
        ends = self.graph.run(self._names[port], frame)
        left = [one for one in ends if one.exit in LEAVES]
        if self.verdicts:
            last = next((one for one in ends if one.exit in (*LEAVES, HOST)), ends[0])
            rule = Rule(last.path[-1], "packets that end here")
            return passes(port, frame, rule=rule, dropped=last.exit not in (*LEAVES, HOST))
        if any(one.exit == HOST for one in ends):
            return None
        sent = tuple(Sent(self._ports[self._device(one.path[-1])], one.pack.data) for one in left)
        why = next((one.pack.reason for one in ends if one.pack.reason), Reason.NONE)
        return Judgement(Outcome(Reason.NONE if sent else why, sent))

    def cases(self, router: Router) -> st.SearchStrategy[Case]:
        """Return a strategy for frames near the addresses and ports that the graph names, and some of a router's."""
        elements = self.graph.elements.values()
        text = " ".join(word for one in elements for word in one.arguments)
        patterns = " ".join(word for one in elements if one.kind == "Classifier" for word in one.arguments)
        stamps = [
            (int(at), bytes.fromhex(octets)) for at, octets in re.findall(r"(\d+)/((?:[0-9a-fA-F]{2})+)", patterns)
        ]
        return _near(Rules.of([FilterRule(), *_named(text)][:MAX_NAMED]), router, sorted(self._names), stamps)

    def _device(self, element: str) -> str:
        return str(getattr(self.graph.elements[element], "device", element))
