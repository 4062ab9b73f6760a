"""Reads files of rules: npexplore's TOML, and ClassBench's lines.

ClassBench (Taylor, Turner, IEEE/ACM Transactions on Networking 15(3), 2007) writes a rule as
`@SOURCE/LENGTH DESTINATION/LENGTH LOW : HIGH LOW : HIGH PROTOCOL/MASK [FLAGS/MASK]`. It has no actions. Flags are not
among the five fields: only their syntax is checked. docs/classifiers.md and diffserv.md describe every key.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from npexplore.errors import InputError, UnknownNameError, one_of, told_at
from npexplore.golden.classify.rules import MAX_RULES, Range, Rule, Rules, class_number
from npexplore.golden.diffserv.records import BytesUnit, PolicerRecord, PortQueuesRecord, QueueRecord
from npexplore.golden.diffserv.setup import CLASSES
from npexplore.golden.ipv4.addresses import MAX_ADDRESS, address_number, prefix_mask, prefix_pair
from npexplore.golden.ipv4.five_tuple import BITS, FIELDS, PROTOCOLS
from npexplore.paths import input_content
from npexplore.strict_input import whole_number
from npexplore.toml import Record, decode

Field = str | int | None
MAX_FLAGS = 0xFFFF
_CLASSBENCH = re.compile(
    r"@(\S+)\s+(\S+)\s+(\S+)\s*:\s*(\S+)\s+(\S+)\s*:\s*(\S+)\s+(\w+)/(\w+)(?:\s+(\w+)/(\w+))?\s*", re.ASCII
)


class RuleRecord(Record, frozen=True, kw_only=True):
    """A rule: each field is a value, a prefix (addresses), or a range `LOW-HIGH`; a missing field matches any value.

    protocol: a number, a range, or a name of PROTOCOLS. class: EF, AF11 .. AF43 (AF1 is AF11), CS1 .. CS7, BE (the
    default); dscp: a number instead of class. policer: name of the policer of the rule's packets.
    """

    source: Field = None
    destination: Field = None
    source_port: Field = None
    destination_port: Field = None
    protocol: Field = None
    class_name: str | None = msgspec.field(default=None, name="class")
    dscp: int | None = None
    policer: str | None = None


class RulesFile(Record, frozen=True, kw_only=True):
    """Schema of a file of rules, highest precedence first, and of a DiffServ edge's treatment of their packets.

    classes: the queues of every port, highest priority first. scheduler, queue: of every port; port: exceptions for
    some ports. bytes: the size of a packet in queues, schedulers and shapers.
    """

    about: str = ""
    rule: list[RuleRecord]
    classes: list[str] = msgspec.field(default_factory=lambda: list(CLASSES))
    scheduler: str = "priority_drr"
    bytes: BytesUnit = "line"
    policer: dict[str, PolicerRecord] = msgspec.field(default_factory=dict)
    queue: dict[str, QueueRecord] = msgspec.field(default_factory=dict)
    port: dict[str, PortQueuesRecord] = msgspec.field(default_factory=dict)


def rules_schema() -> dict[str, Any]:
    """Return the JSON Schema of a file of rules."""
    return msgspec.json.schema(RulesFile)


def load_rules(path: str | Path) -> Rules:
    """Read rules: TOML if the name ends in .toml, else ClassBench. Raises InputError naming file, rule and field."""
    file = Path(path)
    if file.suffix != ".toml":
        return classbench_rules(input_content(path).decode("utf-8-sig", "replace").splitlines(), file.name)
    return rules_of(read_rules_file(path).rule, file.name)


def read_rules_file(path: str | Path) -> RulesFile:
    """Read a TOML file of rules without checking it further; raises InputError naming file, place, rule and value."""
    record: RulesFile = decode(input_content(path), RulesFile, Path(path))
    return record


def rules_of(records: Sequence[RuleRecord], origin: str = "rules", policers: Collection[str] | None = None) -> Rules:
    """Return checked rules. policers: the defined names, None: names are not checked. Raises InputError."""
    _room(len(records), origin)
    return Rules(tuple(_rule(f"{origin}: rule[{k}]", record, policers) for k, record in enumerate(records)), origin)


def classbench_rules(lines: Iterable[str], origin: str = "rules", classes: Sequence[str] = ("BE",)) -> Rules:
    """Return the rules of ClassBench's lines; empty lines and comments (#) are skipped.

    classes: per-hop behaviours, assigned to the rules in turn. Raises InputError naming origin, line, field and value.
    """
    dscps = [class_number(name) for name in classes]
    rules: list[Rule] = []
    for number, line in enumerate(lines, start=1):
        text = line.partition("#")[0].strip()
        if text:
            _room(len(rules) + 1, f"{origin}:{number}")
            rules.append(_classbench_rule(f"{origin}:{number}", text, dscps[len(rules) % len(dscps)]))
    return Rules(tuple(rules), origin)


def _room(count: int, origin: str) -> None:
    if count > MAX_RULES:
        raise InputError(f"{origin}: rule[{MAX_RULES}]: at most {MAX_RULES} rules are allowed, this is one more")


def _rule(place: str, record: RuleRecord, policers: Collection[str] | None) -> Rule:
    readers: tuple[Callable[[str, Field, int], Range], ...] = (_addresses, _addresses, _numbers, _numbers, _protocols)
    with told_at(place):
        ranges = {
            name: reader(name, value, bits)
            for name, reader, bits in zip(FIELDS, readers, BITS, strict=True)
            if (value := getattr(record, name)) is not None
        }
        if record.class_name is not None and record.dscp is not None:
            raise InputError(f"class: a rule has class or dscp, got class {record.class_name!r} and dscp {record.dscp}")
        if record.policer is not None and policers is not None:
            one_of("policer", record.policer, policers)
        dscp = record.dscp if record.dscp is not None else class_number(record.class_name or "BE")
        return Rule(**ranges, dscp=dscp, policer=record.policer)


def _addresses(name: str, value: Field, bits: int) -> Range:
    """Parse an address, a prefix, or two addresses joined by a dash."""
    if not isinstance(value, str):
        raise InputError(f"{name} must be an address, a prefix or LOW-HIGH in quotes, got {value!r}")
    low, dash, high = value.partition("-")
    try:
        if dash:
            return address_number(low.strip()), address_number(high.strip())
        prefix_value, length = prefix_pair(value)
    except InputError as error:
        raise InputError(f"{name}: {error}") from None
    return prefix_value, prefix_value | ~prefix_mask(length) & MAX_ADDRESS


def _numbers(name: str, value: Field, bits: int) -> Range:
    """Parse a number, or two numbers joined by a dash."""
    if isinstance(value, int):
        return value, value
    low, dash, high = str(value).partition("-")
    low_value = whole_number(low.strip(), hexadecimal=False)
    high_value = whole_number(high.strip(), hexadecimal=False) if dash else low_value
    if low_value is None or high_value is None:
        rule = f"must be a number 0 to {(1 << bits) - 1} or LOW-HIGH, without leading zeros"
        raise InputError(f"{name} {rule}, got {value!r}")
    return low_value, high_value


def _protocols(name: str, value: Field, bits: int) -> Range:
    """Parse a number, a range, or a protocol's name."""
    if isinstance(value, str) and value[:1].isalpha():
        if value not in PROTOCOLS:
            raise UnknownNameError(name, value, PROTOCOLS)
        return PROTOCOLS[value], PROTOCOLS[value]
    return _numbers(name, value, bits)


def _classbench_rule(place: str, text: str, dscp: int) -> Rule:
    fields = _CLASSBENCH.fullmatch(text)
    if not fields:
        form = "@PREFIX PREFIX LOW : HIGH LOW : HIGH PROTOCOL/MASK"
        hint = "" if text[0] == "@" else " (rules of other tools, as nftables, iptables and tc, are not read)"
        raise InputError(f"{place}: a rule is {form}, got {text!r}{hint}")
    words = fields.groups()
    with told_at(place):
        source, destination = (_addresses(name, word, 32) for name, word in zip(FIELDS[:2], words[:2], strict=True))
        source_port = _numbers("source_port", f"{words[2]}-{words[3]}", 16)
        destination_port = _numbers("destination_port", f"{words[4]}-{words[5]}", 16)
        protocol = _masked(words[6], words[7])
        flags = [whole_number(word) for word in words[8:] if word is not None]
        if not all(number is not None and number <= MAX_FLAGS for number in flags):
            raise InputError(f"flags must be NUMBER/MASK, each at most 0x{MAX_FLAGS:x}, got {words[8]}/{words[9]}")
        return Rule(source, destination, source_port, destination_port, protocol, dscp)


def _masked(value: str, mask: str) -> Range:
    """Return the range of a protocol and its mask, decimal or with 0x; the mask must be ones, then zeros."""
    low, bits = whole_number(value), whole_number(mask)
    if low is None or bits is None:
        raise InputError(f"protocol must be NUMBER/MASK, got {value}/{mask} (without leading zeros, or with 0x)")
    free_bits = ~bits & 0xFF
    if not 0 <= bits <= 0xFF or free_bits & (free_bits + 1):
        raise InputError(f"protocol needs a mask of leading ones, 0x00 to 0xff, got {mask}")
    if not 0 <= low <= 0xFF:
        raise InputError(f"protocol must be 0 to 255, got {value}")
    return low & bits, low & bits | free_bits
