"""Label stacks, the incoming label map, the TTL models of RFC 3443, explicit nulls, the label cache."""

import dpkt
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import npexplore._kernels.golden_mpls as kernels
from npexplore.errors import InputError, TableFullError
from npexplore.golden.checksum import header_checksum_is_right
from npexplore.golden.columns import Packets
from npexplore.golden.ipv4.header import write_packet
from npexplore.golden.ipv6.header import write_packet as write_packet6
from npexplore.golden.lookup.base import Read
from npexplore.golden.mpls.label_cache import LabelCache, LabelTable
from npexplore.golden.mpls.stack import Label, Stack, depth_within, label_at, labels_of, read_stack, write_stack
from npexplore.golden.mpls.switch import HERE, LabelEntry, LabelMap, switch_labels
from npexplore.golden.reasons import Reason
from npexplore.testing.strategies6 import label_stacks

R = Reason
IP4 = write_packet(0x0A000001, 0x0B000001, b"data", ttl=9)
IP6 = write_packet6(0x2001 << 112 | 1, 0x2001 << 112 | 2, b"data", hop_limit=9)
MAP = LabelMap.of(
    {
        100: LabelEntry((200,), 1),
        101: LabelEntry((300, 201), 1),
        102: LabelEntry((300, 201), 1, uniform=False),
        110: LabelEntry((), 2),
        111: LabelEntry((), 2, uniform=False),
        120: LabelEntry((), HERE),
        121: LabelEntry((), HERE, uniform=False),
    }
)  # fmt: skip


def stacked(*labels, payload=IP4, ttl=64):
    """Return a packet with labels (numbers or entries), the first one outermost."""
    return write_stack(one if isinstance(one, Label) else Label(one, ttl=ttl) for one in labels) + payload


def rows(packet):
    """Return the labels of a packet as (label, bottom, ttl)."""
    found = [label_at(packet, k) for k in range(read_stack(packet).depth)]
    return [(row.label, row.bottom, row.ttl) for row in found]


@given(
    st.lists(
        st.builds(Label, st.integers(0, 2**20 - 1), st.integers(0, 7), st.just(0), st.integers(0, 255)), min_size=1
    )
)
def test_entries_are_those_dpkt_reads(labels):
    packet = write_stack(labels)
    theirs = [dpkt.ethernet.MPLSlabel(packet[4 * k : 4 * k + 4]) for k in range(len(labels))]
    ours = [label_at(packet, k) for k in range(len(labels))]
    assert [(t.val, t.exp, t.s, t.ttl) for t in theirs] == [tuple(row) for row in ours]
    assert [row.bottom for row in ours] == [0] * (len(labels) - 1) + [1]


@pytest.mark.parametrize("row", [Label(1 << 20), Label(5, 8), Label(5, ttl=256), Label(-1)])
def test_labels_out_of_range_are_refused(row):
    with pytest.raises(InputError, match="20 bits"):
        write_stack([row])


@pytest.mark.parametrize(
    ("packet", "reason"),
    [
        (b"", R.LABEL_CUT), (b"\0\1\0", R.LABEL_CUT), (bytes(8), R.NO_BOTTOM), (bytes(9), R.NO_BOTTOM),
        (stacked(100)[:3], R.LABEL_CUT), (stacked(100, 100)[:7], R.NO_BOTTOM), (stacked(100), R.NONE),
        (stacked(*[100] * 30), R.NONE),
    ],
)  # fmt: skip
def test_a_stack_must_have_a_bottom(packet, reason):
    assert read_stack(packet).reason == reason
    assert switch_labels(packet, MAP).reason == reason


@pytest.mark.parametrize(
    ("packet", "reason"),
    [
        (stacked(100, ttl=0), R.LABEL_TTL_EXPIRED), (stacked(100, ttl=1), R.LABEL_TTL_EXPIRED),
        (stacked(120, Label(100, ttl=1)), R.NONE), (stacked(121, Label(100, ttl=1)), R.LABEL_TTL_EXPIRED),
        (stacked(99), R.LABEL_UNKNOWN), (stacked(120, 99), R.LABEL_UNKNOWN), (stacked(1), R.LABEL_RESERVED),
        (stacked(3), R.LABEL_RESERVED), (stacked(15), R.LABEL_RESERVED), (stacked(120, payload=b""), R.NOT_IP_BELOW),
        (stacked(110, payload=b"\x75" + bytes(60)), R.NOT_IP_BELOW), (stacked(0, payload=IP6), R.NOT_IP_BELOW),
        (stacked(2, payload=IP4), R.NOT_IP_BELOW), (stacked(120, payload=IP6[:39]), R.NOT_IP_BELOW),
    ],
)  # fmt: skip
def test_reasons(packet, reason):
    assert switch_labels(packet, MAP).reason == reason


def test_swap_takes_one_from_the_time_to_live_and_keeps_class_and_bottom():
    made = switch_labels(stacked(Label(100, 5, ttl=64), 7), MAP)
    assert rows(made.packet) == [(200, 0, 63), (7, 1, 64)]
    assert label_at(made.packet, 0).traffic_class == 5
    assert (made.labels, made.levels, MAP.entries[made.entry].port) == (True, 1, 1)


def test_push_by_model():
    assert rows(switch_labels(stacked(101), MAP).packet) == [(300, 0, 63), (201, 1, 63)]
    assert rows(switch_labels(stacked(102), MAP).packet) == [(300, 0, 255), (201, 1, 63)]


def test_pop_to_a_port_by_model():
    uniform, pipe = (switch_labels(stacked(label, Label(7, ttl=20)), MAP) for label in (110, 111))
    assert rows(uniform.packet) == [(7, 1, 63)]
    assert rows(pipe.packet) == [(7, 1, 20)]
    uniform, pipe = (switch_labels(stacked(label), MAP) for label in (110, 111))
    assert (uniform.packet[8], pipe.packet) == (63, IP4)
    assert header_checksum_is_right(uniform.packet)
    assert not uniform.labels
    assert switch_labels(stacked(110, payload=IP6), MAP).packet[7] == 63


def test_pop_here_hands_ip_to_the_router_which_takes_the_one_itself():
    assert switch_labels(stacked(120), MAP).packet[8] == 64
    assert switch_labels(stacked(121), MAP).packet == IP4
    assert switch_labels(stacked(120), MAP).entry == -1


@pytest.mark.parametrize("depth", [1, 2, 3, 4])
def test_a_stack_of_pops_is_looked_up_label_by_label(depth):
    made = switch_labels(stacked(*[121] * depth), MAP)
    assert (made.levels, made.packet) == (depth, IP4)


def test_uniform_pops_hand_the_time_to_live_down():
    made = switch_labels(stacked(Label(120, ttl=40), Label(100, ttl=7)), MAP)
    assert rows(made.packet) == [(200, 1, 39)]


@pytest.mark.parametrize(("null", "payload", "at"), [(0, IP4, 8), (2, IP6, 7)])
def test_explicit_null_at_the_bottom_and_elsewhere(null, payload, at):
    made = switch_labels(stacked(Label(null, ttl=33), payload=payload), MAP)
    assert (made.entry, made.packet[at]) == (-1, 33)
    assert rows(switch_labels(stacked(Label(null, ttl=33), 100), MAP).packet) == [(200, 1, 32)]


@pytest.mark.parametrize("null", [0, 2])
def test_explicit_null_may_be_put_on_a_packet(null):
    """RFC 3032 section 2.1: the hop before a path's end may hand on the traffic class below an explicit null."""
    swaps = LabelMap.of({100: LabelEntry((null,), 1), 101: LabelEntry((300, null), 1)})
    assert rows(switch_labels(stacked(100), swaps).packet) == [(null, 1, 63)]
    assert rows(switch_labels(stacked(101), swaps).packet) == [(300, 0, 63), (null, 1, 63)]


@pytest.mark.parametrize(
    ("entries", "why"),
    [
        ({5: LabelEntry((), 0)}, "16 to"),
        ({20: LabelEntry((3,), 0)}, "16 to"),
        ({20: LabelEntry((1,), 0)}, "or explicit null"),
        ({0: LabelEntry((), 0)}, "16 to"),
        ({20: LabelEntry((30,))}, "by a port"),
    ],
)
def test_wrong_maps_are_refused(entries, why):
    with pytest.raises(InputError, match=why):
        LabelMap.of(entries)


@given(st.lists(label_stacks(), min_size=1, max_size=5))
def test_labels_as_columns(packets):
    found = labels_of(Packets.of(packets), 4).tolist()
    for packet, labels in zip(packets, found, strict=True):
        depth = read_stack(packet).depth
        expected = [label_at(packet, k).label for k in range(min(depth, 4))]
        assert labels == expected + [-1] * (4 - len(expected))


def table_of(labels):
    table = LabelTable()
    for number, label in enumerate(labels):
        table.bind(label, number)
    return table


@given(st.lists(st.integers(16, 40), max_size=60), st.integers(1, 4), st.integers(1, 3), st.sets(st.integers(16, 40)))
def test_the_cache_answers_as_the_table_and_columns_as_single_lookups(labels, sets, bins, known):
    table = table_of(sorted(known))
    one, many = (LabelCache(table, sets=sets, bins=bins) for _ in range(2))
    single = [one.look_up(label) for label in labels]
    number, reads = many.look_up_many(labels)
    assert number.tolist() == [found for found, _ in single] == table.number[labels].tolist()
    assert [reads.of(row) for row in range(len(labels))] == [words for _, words in single]


def test_a_hit_reads_one_word_and_bins_are_replaced_in_turn():
    cache = LabelCache(table_of([20, 21, 22]), sets=1, bins=2)
    counts = [len(cache.look_up(label)[1]) for label in (20, 20, 21, 22, 20, 21, 22)]
    assert counts == [2, 1, 2, 2, 2, 2, 2]
    cache.forget(22)
    assert cache.look_up(22) == (2, (Read("label_cache", 0), Read("label_table", 22)))


def test_caches_refuse():
    with pytest.raises(InputError, match="at least 1 set"):
        LabelCache(LabelTable(), sets=0)
    with pytest.raises(TableFullError, match="larger than"):
        LabelCache(LabelTable(), sets=1 << 19, bins=4)
    with pytest.raises(InputError, match="labels must be"):
        LabelCache(LabelTable()).look_up_many([1 << 20])
    with pytest.raises(InputError, match="its entry"):
        LabelTable().bind(1 << 20, 0)


def test_all_sets_of_a_cache_are_used():
    cache = LabelCache(LabelTable(), sets=48, bins=4)
    used = np.bincount([cache.set_of(label) for label in range(16, 4096)], minlength=48)
    assert used.min() > 0.8 * used.mean()


@pytest.mark.parametrize("name", [r.name for r in Reason if hasattr(kernels, r.name)])
def test_codes_of_the_kernels_are_those_of_reasons(name):
    assert getattr(kernels, name) == Reason[name]


def test_the_shape_of_a_stack():
    assert read_stack(stacked(Label(100, 3, ttl=9), 7)) == Stack(R.NONE, 2, 100, 3, 9)


@pytest.mark.parametrize("most", [1, 4, 8])
@pytest.mark.parametrize(
    "packet", [b"", bytes(3), bytes(8), bytes(17), *(stacked(*[100] * n) for n in (1, 2, 4, 5, 8, 9))]
)
def test_a_bounded_search_for_the_bottom_finds_what_lies_within(packet, most):
    whole, found = read_stack(packet), depth_within(packet, most)
    if len(packet) >= 4 * most and whole.depth not in range(1, most + 1):
        assert found == (R.NONE, 0)
    else:
        assert found == (whole.reason, whole.depth)
