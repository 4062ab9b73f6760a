"""Hypothesis strategies for classifiers: rules with nested, adjacent and repeated ranges, and headers at borders."""

from typing import Any

from hypothesis import strategies as st

from npexplore.golden.classify.rules import Range, Rule, Rules
from npexplore.golden.code_points import DSCP
from npexplore.golden.ipv4.addresses import MAX_ADDRESS, prefix_mask
from npexplore.golden.ipv4.five_tuple import BITS, FiveTuple
from npexplore.testing.strategies import addresses

_PORTS = (0, 1, 22, 80, 443, 1023, 1024, 32767, 32768, 65534, 65535)
_PROTOCOLS = (0, 1, 6, 17, 255)


def _prefix(address: int, length: int) -> Range:
    low = address & prefix_mask(length)
    return low, low | ~prefix_mask(length) & MAX_ADDRESS


def _ends(values: st.SearchStrategy[int], bits: int) -> st.SearchStrategy[Range]:
    """Draw ranges: a single value, two values in order, or all values."""
    two = st.tuples(values, values).map(lambda ends: (min(ends), max(ends)))
    return st.one_of(values.map(lambda value: (value, value)), two, st.just((0, (1 << bits) - 1)))


def _values() -> tuple[st.SearchStrategy[int], ...]:
    ports = st.one_of(st.sampled_from(_PORTS), st.integers(0, 0xFFFF))
    protocols = st.one_of(st.sampled_from(_PROTOCOLS), st.integers(0, 0xFF))
    return addresses(), addresses(), ports, ports, protocols


def rules() -> st.SearchStrategy[Rule]:
    """Draw rules: addresses as prefixes or ranges, ports and protocols as values, ranges or any; no policer."""
    source, destination, source_port, destination_port, protocol = (
        _ends(values, bits) for values, bits in zip(_values(), BITS, strict=True)
    )
    prefix = st.builds(_prefix, addresses(), st.integers(0, 32))
    dscp = st.one_of(st.sampled_from(sorted(DSCP.values())), st.integers(0, 63))
    sources, destinations = st.one_of(prefix, source), st.one_of(prefix, destination)
    return st.builds(Rule, sources, destinations, source_port, destination_port, protocol, dscp)


def rule_sets(*, min_size: int = 1, max_size: int = 20) -> st.SearchStrategy[Rules]:
    """Draw sets of rules; some contain a rule more than once."""
    base_rules = st.lists(rules(), min_size=1, max_size=max_size)
    return base_rules.flatmap(
        lambda base: st.lists(
            st.sampled_from(base), min_size=max(min_size, len(base)), max_size=max(max_size, len(base), min_size)
        ).map(lambda repeats: Rules(tuple(base + repeats)[: max(max_size, min_size)]))
    )


@st.composite
def headers_near(draw: Any, rule_set: Rules, *, max_size: int = 20) -> "list[FiveTuple[int]]":
    """Draw headers whose fields are at the borders of the rules' ranges, next to them, inside, or anywhere.

    rule_set: the rules. max_size: the largest number of headers.
    """
    fields = []
    for field, (values, bits) in enumerate(zip(_values(), BITS, strict=True)):
        max_value = (1 << bits) - 1
        borders = {
            min(max(value, 0), max_value)
            for rule in rule_set
            for low, high in (rule.ranges[field],)
            for value in (low - 1, low, (low + high) // 2, high, high + 1)
        }
        fields.append(st.one_of(st.sampled_from(sorted(borders)), values))
    inside = st.sampled_from(list(rule_set)).flatmap(
        lambda rule: st.builds(FiveTuple, *(st.sampled_from(sorted(set(ends))) for ends in rule.ranges))
    )
    near = st.lists(st.one_of(inside, st.builds(FiveTuple, *fields)), min_size=1, max_size=max_size)
    headers: list[FiveTuple[int]] = draw(near)
    return headers
