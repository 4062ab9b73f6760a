"""Classifiers by expressions: IPFilter and IPClassifier, as `src net 10.0.0.0/8 && (tcp port 80 or udp)`.

Primitives: [src|dst|src or dst|src and dst] [ip|tcp|udp] [host|net|port] VALUE, proto, icmp [type] and tcp opt;
`ip frag`, unfrag, vers, hl, ttl, tos, dscp with a number; not, and, or, brackets; side by side means and; `-`, all.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from npexplore.errors import InputError
from npexplore.golden.elements.base import ANY, Element, Out, Pack, address, limited, number
from npexplore.golden.elements.ip import prefix
from npexplore.golden.ipv4.addresses import prefix_mask
from npexplore.golden.ipv4.header import read_header
from npexplore.golden.reasons import Reason

Test = Callable[[bytes], bool]
PROTOCOLS = {"icmp": 1, "igmp": 2, "ipip": 4, "tcp": 6, "udp": 17}
SERVICES = {"ftp": 21, "ftp-data": 20, "ssh": 22, "telnet": 23, "smtp": 25, "dns": 53, "domain": 53, "www": 80,
            "http": 80, "auth": 113, "ntp": 123, "https": 443}  # fmt: skip
ICMP_NAMES = {"echo-reply": 0, "unreachable": 3, "sourcequench": 4, "redirect": 5, "echo": 8, "timeexceeded": 11,
              "parameterproblem": 12}  # fmt: skip
FLAGS = {"fin": 1, "syn": 2, "rst": 4, "psh": 8, "ack": 16, "urg": 32}
FIELDS: dict[str, tuple[Callable[[bytes], int], int]] = {  # and the most that each can be
    "vers": (lambda p: p[0] >> 4, 15),
    "hl": (lambda p: p[0] & 15, 15),
    "tos": (lambda p: p[1], 255),
    "dscp": (lambda p: p[1] >> 2, 63),
    "id": (lambda p: p[4] << 8 | p[5], 0xFFFF),
    "ttl": (lambda p: p[8], 255),
}
WORDS = re.compile(r"\(|\)|&&|\|\||!=|<=|>=|[<>=!?:]|[^\s()&|!<>=?]+")
COMPARED: dict[str, Callable[[int, int], bool]] = {
    "=": int.__eq__, "==": int.__eq__, "!=": int.__ne__, "<": int.__lt__, ">": int.__gt__, "<=": int.__le__,
    ">=": int.__ge__,
}  # fmt: skip


def expression(text: str) -> Test:
    """Return the test of an expression; raises InputError."""
    return _Reader(text).whole()


class _Reader:
    """Reads one expression: or over and over not over primitives."""

    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0
        self.words: list[str] = WORDS.findall(text)
        rest = WORDS.sub("", text).split()
        if rest:
            raise InputError(f"expression {text!r} is not understood at {rest[0]!r}")
        self.before = ""  # `dst tcp www or https`: what a bare value is of

    def whole(self) -> Test:
        if self.words in (["-"], ["any"], ["all"], ["true"]):
            return lambda packet: True
        test = self.any_of()
        if self.at < len(self.words):
            raise self.wrong()
        return test

    def wrong(self) -> InputError:
        word = self.words[self.at] if self.at < len(self.words) else "its end"
        return InputError(f"expression {self.text!r} is not understood at {word!r}")

    def sees(self, *words: str) -> bool:
        return self.at < len(self.words) and self.words[self.at] in words

    def take(self, *words: str) -> str:
        """Take the next word if it is one of these, any if there are none."""
        if self.at >= len(self.words) or (words and not self.sees(*words)):
            if words:
                return ""
            raise self.wrong()
        self.at += 1
        return self.words[self.at - 1]

    def any_of(self) -> Test:
        tests = [self.all_of()]
        while self.take("or", "||"):
            tests.append(self.all_of())
        return tests[0] if len(tests) == 1 else lambda packet: any(test(packet) for test in tests)

    def all_of(self) -> Test:
        tests = [self.one()]
        while self.take("and", "&&") or (self.at < len(self.words) and not self.sees("or", "||", ")")):
            tests.append(self.one())
        return tests[0] if len(tests) == 1 else lambda packet: all(test(packet) for test in tests)

    def one(self) -> Test:
        if self.take("not", "!"):
            test = self.one()
            return lambda packet: not test(packet)
        if self.take("("):
            test = self.any_of()
            if not self.take(")"):
                raise self.wrong()
            return test
        start = self.at
        way = self.take("src", "dst")
        if way and self.sees("or", "and") and self.words[self.at + 1 : self.at + 2] == ["dst"]:
            way, self.at = f"src {self.words[self.at]} dst", self.at + 2
        layer = self.take("ip", "tcp", "udp", "icmp")
        kind = self.take("host", "net", "port", "proto", "type", "opt", "frag", "unfrag", *FIELDS)
        if not way and not kind:
            if layer and not self._value_follows(layer):
                return _protocol(layer)
            kind = "type" if layer == "icmp" else ""
        if not (way or layer or kind) and not self.before:
            return self.bare()
        if not (way or layer or kind):
            way, _, kind = self.before.rpartition("/")
            way, _, layer = way.partition("/")
            self.at = start
        return self.made(way, layer, kind)

    def bare(self) -> Test:
        word = self.take()
        if word in PROTOCOLS:
            return _protocol(word)
        if word in FLAGS:
            return _flag(word)
        self.at -= 1
        raise self.wrong()

    def _value_follows(self, layer: str) -> bool:
        word = self.words[self.at] if self.at < len(self.words) else ""
        return (layer == "icmp" and word in ICMP_NAMES) or (layer in ("tcp", "udp") and word in SERVICES)

    def made(self, way: str, layer: str, kind: str) -> Test:
        """Return the test of a primitive whose value comes next."""
        if kind in ("frag", "unfrag"):
            return lambda packet: bool((packet[6] << 8 | packet[7]) & 0x3FFF) is (kind == "frag")
        relation = self.take(*COMPARED) or "="
        compare, word = COMPARED[relation], self.take()
        if kind == "proto":
            return _negated(relation, "a protocol", _protocol(word))
        if kind == "opt":
            return _negated(relation, "a flag", _flag(word), allowed=("=", "=="))
        if kind == "type":
            wanted = ICMP_NAMES[word] if word in ICMP_NAMES else limited("type of ICMP", word, 255)
            return _of(("icmp",), lambda packet: _fits(_body(packet, 0, 1), compare, wanted))
        if kind in FIELDS:
            field, most = FIELDS[kind]
            wanted = limited(kind, word, most)
            return lambda packet: compare(field(packet), wanted)
        if kind == "port" or (not kind and (layer in ("tcp", "udp") or word in SERVICES or word.isdigit())):
            self.before = f"{way}/{layer}/port"
            wanted = SERVICES[word] if word in SERVICES else limited("a port", word, 0xFFFF)
            return _ports(way, layer, wanted, relation)
        self.before = f"{way}/{layer}/{kind or 'host'}"
        value, length = prefix(word) if kind == "net" or "/" in word else (address(word), 32)

        def within(packet: bytes, at: int) -> bool:
            return not (int.from_bytes(packet[at : at + 4], "big") ^ value) & prefix_mask(length)

        test = _negated(relation, "an address", _sides(way, within, (12, 16)))
        return test if layer in ("", "ip") else _of((layer,), test)


def _negated(relation: str, what: str, test: Test, allowed: tuple[str, ...] = ("=", "==", "!=")) -> Test:
    """Return a test, or its opposite for `!=`; raises InputError for relations that it cannot have."""
    if relation not in allowed:
        raise InputError(f"{what} cannot be compared by {relation!r} (supported: {', '.join(allowed)})")
    return test if relation != "!=" else lambda packet: not test(packet)


def _protocol(word: str) -> Test:
    wanted = PROTOCOLS[word] if word in PROTOCOLS else -1 if word == "ip" else limited("a protocol", word, 255)
    return lambda packet: wanted in (packet[9], -1)


def _of(layers: tuple[str, ...], test: Test) -> Test:
    """Return a test of packets of these protocols alone."""
    numbers = {PROTOCOLS[layer] for layer in layers}
    return lambda packet: packet[9] in numbers and test(packet)


def _fits(found: int | None, compare: Callable[[int, int], bool], wanted: int) -> bool:
    """Whether a field is there and compares as wanted."""
    return found is not None and compare(found, wanted)


def _flag(word: str) -> Test:
    if word not in FLAGS:
        raise InputError(f"a flag of TCP is one of {', '.join(FLAGS)}, got {word!r}")
    return _of(("tcp",), lambda packet: bool((_body(packet, 13, 1) or 0) & FLAGS[word]))


def _body(packet: bytes, at: int, size: int) -> int | None:
    """Return a number behind the header, None where it is not there or this is a later piece."""
    start = 4 * (packet[0] & 15) + at
    if (packet[6] << 8 | packet[7]) & 0x1FFF or len(packet) < start + size:
        return None
    return int.from_bytes(packet[start : start + size], "big")


def _ports(way: str, layer: str, value: int, relation: str) -> Test:
    """Return a test of ports; `!=` is the opposite of `=` among packets that have ports (Click's IPClassifier)."""
    layers = (layer,) if layer in ("tcp", "udp") else ("tcp", "udp")
    compare = COMPARED["=" if relation == "!=" else relation]
    test = _sides(way, lambda packet, at: _fits(_body(packet, at, 2), compare, value), (0, 2))
    if relation != "!=":
        return _of(layers, test)
    return _of(layers, lambda packet: _body(packet, 2, 2) is not None and not test(packet))


def _sides(way: str, fits: Callable[[bytes, int], bool], ends: tuple[int, int]) -> Test:
    """Return a test of source, destination, both or either: either where nothing is said."""
    source, destination = ends
    if way == "src":
        return lambda packet: fits(packet, source)
    if way == "dst":
        return lambda packet: fits(packet, destination)
    if way == "src and dst":
        return lambda packet: fits(packet, source) and fits(packet, destination)
    return lambda packet: fits(packet, source) or fits(packet, destination)


class IPClassifier(Element):
    """The output of the first expression that fits: `IPClassifier(tcp dst port 80, src net 10.0.0.0/8, -)`."""

    OUTPUTS, PROCESSING, ARGUMENTS, TIMED = (1, ANY), "h/h", (1, ANY), "classifier"

    def configure(self, *arguments: str) -> None:
        """The expressions, one per output."""
        self.tests = [(k, expression(text)) for k, text in enumerate(arguments)]
        self.named_outputs, self.names_all = len(self.tests), True

    def take(self, pack: Pack, port: int) -> Out:
        """By the expression; what fits none ends here."""
        packet = pack.data[pack.network :]
        whole = len(packet) >= 20 and read_header(packet).version == 4
        for output, test in self.tests if whole else ():
            if test(packet):
                return [(output, pack)] if output >= 0 else [(-1, _refused(pack))]
        return [(-1, _refused(pack))]


class IPFilter(IPClassifier):
    """The same with what to do in front: `IPFilter(allow src net 10.0.0.0/8, 1 icmp, deny all)`."""

    def configure(self, *arguments: str) -> None:
        """Rules `allow|deny|drop|OUTPUT EXPRESSION`."""
        self.tests = []
        for text in arguments:
            action, _, rest = text.partition(" ")
            output = {"allow": 0, "deny": -1, "drop": -1}.get(action.lower())
            self.tests.append((number(action) if output is None else output, expression(rest or "all")))
        self.named_outputs = max(output for output, _ in self.tests) + 1


def _refused(pack: Pack) -> Pack:
    """Return a packet that a filter does not let pass."""
    return replace(pack, reason=Reason.PROHIBITED)
