"""Every golden function with a batch form: the batch answers what the reference answers packet by packet."""

from importlib import import_module
from inspect import isfunction
from ipaddress import IPv6Address
from pkgutil import walk_packages

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import golden_cases as cases

import npexplore.golden as golden
from npexplore.golden import checksum
from npexplore.golden.columns import Packets
from npexplore.golden.diffserv import mark
from npexplore.golden.ipv4 import delivery, five_tuple, header, martians, options, redirect, ttl, validate
from npexplore.golden.ipv6 import extensions, hop_limit, scope
from npexplore.golden.ipv6 import header as header6
from npexplore.golden.ipv6 import validate as validate6
from npexplore.golden.ipv6.addresses import address_column, numbers_of
from npexplore.golden.linux import messages6
from npexplore.golden.mpls import stack, switch

PAIRS = [  # a function of one packet, its batch form, what draws a case, and what all cases share
    (checksum.internet_checksum, checksum.internet_checksums, cases.any_bytes),
    (checksum.update_checksum, checksum.update_checksums, cases.word_changes),
    (checksum.update_checksum_rfc1141, checksum.update_checksums_rfc1141, cases.word_changes),
    (checksum.header_checksum_is_right, checksum.header_checksums_are_right, cases.ipv4_packets),
    (mark.mark_dscp, mark.mark_dscps, cases.markings),
    (delivery.destination_kind, delivery.destination_kinds, cases.addresses, cases.link_tables),
    (delivery.delivery, delivery.delivery_many, cases.destination_kinds, cases.switches),
    (five_tuple.read_five_tuple, five_tuple.read_five_tuples, cases.ipv4_packets),
    (header.read_header, header.read_headers, cases.ipv4_packets),
    (martians.martian, martians.martian_many, cases.address_pairs, cases.martian_lists),
    (options.option_fault, options.option_faults, cases.ipv4_packets),
    (redirect.redirects, redirect.redirects_many, cases.forwardings, cases.link_tables),
    (ttl.decrement_ttl, ttl.decrement_ttls, cases.ipv4_packets),
    (validate.validate_ipv4, validate.validate_ipv4_many, cases.ipv4_packets),
    (extensions.read_chain, extensions.read_chains, cases.ipv6_packets),
    (header6.read_header, header6.read_headers, cases.ipv6_packets),
    (hop_limit.decrement_hop_limit, hop_limit.decrement_hop_limits, cases.ipv6_packets),
    (scope.address_kind, scope.address_kinds, cases.addresses6),
    (scope.martian, scope.martian_many, cases.address_pairs6),
    (messages6.about_error, messages6.about_errors, cases.ipv6_packets),
    (validate6.validate, validate6.validate_many, cases.ipv6_packets),
    (stack.read_stack, stack.read_stacks, cases.label_stacks),
    (switch.switch_labels, switch.switch_many, cases.label_stacks, cases.label_maps),
]


def test_no_function_of_packets_is_forgotten():
    """What takes Packets first is the batch form of a pair, or a part of `switch_many`."""
    parts = {stack.labels_of, switch.plan_many, switch.rewrite_rows}
    taking = {
        function
        for module in walk_packages(golden.__path__, "npexplore.golden.")
        for name, function in vars(import_module(module.name)).items()
        if isfunction(function) and function.__module__ == module.name and not name.startswith("_")
        and next(iter(function.__annotations__.values()), None) in ("Packets", Packets)
    }  # fmt: skip
    assert {one.__name__ for one in taking - {batch for _, batch, *_ in PAIRS}} == {one.__name__ for one in parts}


def as_column(values):
    """Return what a batch form takes for one argument."""
    if isinstance(values[0], bytes):
        return Packets.of(values)
    if isinstance(values[0], IPv6Address):
        return address_column(int(value) for value in values)
    return np.array(values)


def as_rows(answer):
    """Return what a batch form answered, packet by packet, in the types of references."""
    if isinstance(answer, tuple):
        return list(zip(*map(as_rows, answer), strict=True))
    if isinstance(answer, Packets):
        return list(answer)
    return numbers_of(answer) if answer.ndim == 2 else answer.tolist()


def as_number(value):
    """Return what a reference takes for one argument."""
    return int(value) if isinstance(value, IPv6Address) else value


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair[0].__name__)
@settings(max_examples=15)  # of up to 12 packets each
@given(data=st.data())
def test_batch_equals_reference(pair, data):
    reference, batch, strategy, *contexts = pair
    drawn = data.draw(st.lists(strategy(), min_size=1, max_size=12))
    rows = [row if isinstance(row, tuple) else (row,) for row in drawn]
    context = data.draw(contexts[0]()) if contexts else ()
    columns = [as_column(values) for values in zip(*rows, strict=True)]
    expected = [reference(*map(as_number, row), *context) for row in rows]
    expected = [tuple(answer) if isinstance(answer, tuple) else answer for answer in expected]
    assert as_rows(batch(*columns, *context)) == expected
