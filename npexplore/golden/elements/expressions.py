"""Parses the expressions of IPFilter and IPClassifier (Click's manual): `src net 10/8 && (tcp port www or udp)`.

primitive: qualifiers [& MASK] [RELATION] VALUE; qualifiers are src, dst, src or|and dst, a protocol, a field (host,
net, port, proto, vers, hl, len, id, tos, dscp, ttl, ect, ce, frag, unfrag, opt, win, type) or ip[POS:LEN],
transp[POS:LEN].
A value without qualifiers takes those of the primitive before it. Operators: not, and (also juxtaposition), or, ?:,
brackets.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from npexplore.errors import InputError
from npexplore.golden.elements.base import address
from npexplore.golden.elements.fields import (
    BARE,
    DCCP,
    ENDS,
    FIELDS,
    NAMES,
    PROTOCOLS,
    TCP,
    TCP_OR_UDP,
    UDP,
    Field,
    Test,
    bare_test,
    carries,
    largest,
    of_ends,
    of_field,
    of_protocols,
)  # fmt: skip
from npexplore.golden.elements.ip import prefix
from npexplore.golden.ipv4.addresses import MAX_ADDRESS, prefix_mask
from npexplore.strict_input import whole_number

WORDS = re.compile(r"&&|\|\||[<>!=]=|[()\[\],;?<>!=&|]|[\w\-./@:]+")
COMPARED: dict[str, Callable[[int, int], bool]] = {
    "=": int.__eq__, "==": int.__eq__, "!=": int.__eq__, "<": int.__ge__, ">": int.__gt__, "<=": int.__gt__,
    ">=": int.__ge__,
}  # fmt: skip
OPPOSITES = ("!=", "<", "<=")  # complements of =, >= and >; as in Click, only for packets that have the field
SYNTAX = (*COMPARED, "and", "&&", "not", "!", "(", "]", "[", ",", ";", "&")


@dataclass(frozen=True)
class _Primitive:
    """The words of one primitive; empty values: not specified."""

    way: str = ""
    protocols: tuple[int, ...] | None = None
    kind: str = ""  # a field's name; `bytes`: the bits of `field`
    field: Field | None = None
    negated: bool = False  # `icmp not type 8` is one primitive: not icmp of type 8


def expression(text: str) -> Test:
    """Return the test of an expression on IP packets; raises InputError."""
    reader = _Reader(text)
    if reader.words in (["-"], ["any"], ["all"]):
        return lambda packet: True
    test = reader.ternary()
    if test is None or reader.at < len(reader.words):
        raise reader.wrong()
    return test


class _Reader:
    """A recursive-descent parser of one expression; precedence from low to high: ?:, or, and, not."""

    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0
        self.words: list[str] = WORDS.findall(text)
        rest = WORDS.sub("", text).split()
        if rest:
            raise InputError(f"expression {text!r} is not understood at {rest[0]!r}")
        self.before = _Primitive()

    def wrong(self) -> InputError:
        word = self.words[self.at] if self.at < len(self.words) else "its end"
        return InputError(f"expression {self.text!r} is not understood at {word!r}")

    def sees(self, *words: str) -> bool:
        return self.at < len(self.words) and self.words[self.at] in words

    def take(self, *words: str) -> str:
        """Consume and return the next word if it is one of these, else return "" without consuming."""
        if not self.sees(*words):
            return ""
        self.at += 1
        return self.words[self.at - 1]

    def needed(self, test: Test | None) -> Test:
        if test is None:
            raise self.wrong()
        return test

    def ternary(self) -> Test | None:
        """Parse `or-expression [? ternary : ternary]`; return None if there is no expression."""
        test = self.any_of()
        if test is None or not self.take("?"):
            return test
        if_true = self.needed(self.ternary())
        if not self.take(":"):
            raise self.wrong()
        condition, if_false = test, self.needed(self.ternary())
        return lambda packet: if_true(packet) if condition(packet) else if_false(packet)

    def any_of(self) -> Test | None:
        """Parse expressions joined by `or`."""
        test = self.all_of()
        if test is None or not self.sees("or", "||"):
            return test
        tests = [test]
        while self.take("or", "||"):
            tests.append(self.needed(self.all_of()))
        return lambda packet: any(alternative(packet) for alternative in tests)

    def all_of(self) -> Test | None:
        """Parse expressions joined by `and` or by juxtaposition."""
        tests: list[Test] = []
        while True:
            after_and = bool(tests) and bool(self.take("and", "&&"))
            test = self.one()
            if test is None:
                if after_and:
                    raise self.wrong()
                break
            tests.append(test)
        if len(tests) < 2:
            return tests[0] if tests else None
        return lambda packet: all(test(packet) for test in tests)

    def one(self) -> Test | None:
        """Parse a negation, a bracketed expression, a truth value or a primitive."""
        if self.take("not", "!"):
            test = self.needed(self.one())
            return lambda packet: not test(packet)
        if self.take("("):
            test = self.needed(self.ternary())
            if not self.take(")"):
                raise self.wrong()
            return test
        if self.at == len(self.words) or self.sees(")", "or", "||", "?", ":"):
            return None
        if self.sees("true", "false"):
            holds = self.take("true", "false") == "true"
            return lambda packet: holds
        return self.primitive()

    # ---- primitives

    def primitive(self) -> Test:
        start = self.at
        qualifiers = self.qualifiers()
        test = self.of_qualifiers(replace(qualifiers, negated=False), start)
        return (lambda packet: not test(packet)) if qualifiers.negated else test

    def of_qualifiers(self, said: _Primitive, start: int) -> Test:
        """Parse the rest of a primitive that began at word `start`; return its test."""
        is_bare = self.at == start
        if said.kind in BARE:
            self.before = said
            return bare_test(said.kind)
        mask = self.mask() if not is_bare else None
        relation = self.take(*COMPARED)
        kind, value, network = self.value(said, is_bare)
        if not kind:
            if relation or mask is not None:
                raise self.wrong()
            if said.kind == "ect":
                return lambda packet: packet[1] & 3 != 0
            if said.protocols is None or said.kind not in ("", "proto") or said.way:
                raise self.wrong()
            self.before = replace(said, kind="proto")
            return of_protocols(said.protocols, lambda packet: True)
        if is_bare:
            direction = said.way or self.before.way
            inherited = self.before.protocols if kind in ("port", "bytes") else None
            said = replace(said, way=direction, protocols=said.protocols or inherited, field=self.before.field)
        said = replace(said, kind=kind)
        self.before = said
        return self.compared(said, relation or "=", value, network if mask is None else mask, mask is not None)

    def qualifiers(self) -> _Primitive:
        """Parse the qualifiers of a primitive, as many as there are."""
        read = _Primitive()
        while self.at < len(self.words):
            word = self.words[self.at]
            if word in ("src", "dst", "dest") and not read.way:
                joint = self.words[self.at + 1 : self.at + 3]
                both = word == "src" and joint in ([a, b] for a in ("or", "and", "||", "&&") for b in ("dst", "dest"))
                direction = "src" if word == "src" else "dst"
                if both:
                    direction = "src or dst" if joint[0] in ("or", "||") else "src and dst"
                read, self.at = replace(read, way=direction), self.at + (3 if both else 1)
            elif word in PROTOCOLS and read.protocols is None and not (read.kind == "type" and word != "icmp"):
                read, self.at = replace(read, protocols=PROTOCOLS[word]), self.at + 1
            elif word in (*ENDS, *FIELDS, *BARE, "opt") and not read.kind:
                read, self.at = replace(read, kind=word), self.at + 1
            elif word == "ether":
                raise InputError(f"expression {self.text!r}: ether is not supported: expressions see IP packets")
            elif word == "[" and not read.kind and self.at:
                read = replace(read, kind="bytes", field=self.brackets(read.protocols))
            elif word == "ip":
                self.at += 1
            elif word in ("not", "!") and read != _Primitive():
                read, self.at = replace(read, negated=not read.negated), self.at + 1
            else:
                break
        return read

    def brackets(self, protocols: tuple[int, ...] | None) -> Field:
        """Parse `[POS:LEN]`, `[FIRST,LAST]` or `[POS]`: octets inside one aligned 32-bit word."""
        end = self.words.index("]", self.at) if "]" in self.words[self.at :] else len(self.words)
        inside = "".join(self.words[self.at + 1 : end])
        begin_text, mark, end_text = inside.partition(":" if ":" in inside else ",")
        position, size = whole_number(begin_text), whole_number(end_text) if mark else 1
        if mark == "," and position is not None and size is not None:
            size += 1 - position
        if position is None or size is None or not 1 <= size <= 4 - position % 4 or end == len(self.words):
            raise InputError(f"expression {self.text!r}: [POS:LEN] must lie inside 4 aligned bytes, got {inside!r}")
        self.at = end + 1
        return Field(protocols, 8 * position, 8 * size)

    def mask(self) -> int | None:
        """Parse `& MASK`, a number or an address; return None without one."""
        if not self.take("&"):
            return None
        word = self.words[self.at] if self.at < len(self.words) else ""
        self.at += 1
        value = whole_number(word)
        return address(word) if value is None else value

    def value(self, said: _Primitive, bare: bool) -> tuple[str, int, int]:
        """Parse a value; return the kind of its field, the value, and its mask; kind "": there is no value."""
        if self.at == len(self.words):
            return "", 0, 0
        word, kind = self.words[self.at], said.kind
        possible_kinds = [name for name, values in NAMES.items() if word in values and (not kind or kind == name)]
        if said.protocols is not None:
            possible_kinds = [name for name in possible_kinds if carries(said.protocols, name)]
        if kind == "proto" and said.protocols is not None:
            return "", 0, 0  # `ip proto tcp` means `tcp`
        if kind == "proto" and word in PROTOCOLS:
            number = PROTOCOLS[word]
            if len(number) != 1:
                raise self.wrong()
            self.at += 1
            return "proto", number[0], 0xFF
        if len(possible_kinds) > 1:
            raise InputError(f"expression {self.text!r}: {word!r} may be of {' or '.join(possible_kinds)}; say which")
        if possible_kinds:
            self.at += 1
            return possible_kinds[0], NAMES[possible_kinds[0]][word], largest(possible_kinds[0], said.field)
        number_ = whole_number(word)
        if number_ is not None and kind not in ("host", "net"):
            kind = kind or (self.before.kind if bare else "")
            if kind in ("", "host", "net", *BARE):
                raise InputError(f"expression {self.text!r}: {word!r} is of no field; say port, or which field")
            self.at += 1
            maximum = largest(kind, said.field or self.before.field)
            if number_ > maximum:
                field_name = {"port": "a port", "proto": "a protocol", "type": "type of ICMP"}.get(kind, kind)
                raise InputError(f"{field_name} must be 0 to {maximum}, got {word!r}")
            return kind, number_, maximum
        return self.address_value(word, kind, said)

    def address_value(self, word: str, kind: str, said: _Primitive) -> tuple[str, int, int]:
        """Parse an address or a prefix with its mask; kind "": there is none."""
        if kind not in ("", "host", "net") or word in SYNTAX:
            if kind not in ("", "ect"):
                raise self.missing(kind, word)
            return "", 0, 0
        try:
            value, length = prefix(word) if "/" in word or kind == "net" else (address(word), 32)
        except InputError:
            if kind or said.way:
                raise
            if not said.protocols:
                raise self.wrong() from None
            return "", 0, 0
        self.at += 1
        mask = prefix_mask(length)
        if self.sees("mask") and "/" not in word:
            self.at += 1
            mask = address(self.words[self.at] if self.at < len(self.words) else "")
            self.at += 1
        return kind or ("net" if mask != MAX_ADDRESS else "host"), value & mask, mask

    def missing(self, kind: str, word: str) -> InputError:
        if kind == "port":
            return InputError(f"a port must be 0 to 65535, got {word!r}")
        return InputError(f"expression {self.text!r}: {kind} needs a value, got {word!r}")

    def compared(self, said: _Primitive, relation: str, value: int, mask: int, masked: bool) -> Test:
        """Return the test of a completely parsed primitive."""
        kind = said.kind
        if kind in ("host", "net", "opt") and relation not in (("=", "==", "!=") if kind != "opt" else ("=", "==")):
            operand, allowed = ("an address", "=, ==, !=") if kind != "opt" else ("a flag", "=, ==")
            raise InputError(f"{operand} cannot be compared by {relation!r} (supported: {allowed})")
        if kind == "opt" and masked:
            raise InputError("a flag cannot have a mask")
        compare, opposite = COMPARED[relation], relation in OPPOSITES
        if kind == "opt":
            test: Test = of_field(Field((TCP,), 104, 8), lambda flags: flags & value == value)
            return of_protocols((TCP,), test)
        expected = value & mask if compare is int.__eq__ else value

        def holds(number: int) -> bool:
            return compare(number & mask, expected)

        if kind in ENDS:
            protocols = said.protocols or (TCP_OR_UDP if kind == "port" else None)
            if kind == "port" and (not protocols or not set(protocols) <= {TCP, UDP, DCCP}):
                raise InputError(f"expression {self.text!r}: ports are of tcp, udp or dccp")
            of_port = kind == "port"
            ends = [Field(protocols if of_port else None, 8 * at, 16 if of_port else 32) for at in ENDS[kind]]
            test = of_ends(said.way, ends, holds, opposite)
        else:
            field = said.field if kind == "bytes" and said.field else FIELDS[kind]
            protocols = said.protocols if kind != "proto" else None
            protocols = protocols or field.protocols
            test = of_field(field, (lambda number: not holds(number)) if opposite else holds)
        return test if not protocols else of_protocols(protocols, test)
