"""Flows, stack distances and prefix matching equal their plain definitions."""

import io
import sys
from collections import OrderedDict
from dataclasses import replace
from ipaddress import IPv4Address, IPv4Network, IPv6Address
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference import capture_files as make

from npexplore._kernels.capture_flows import longest_match
from npexplore.errors import InputError
from npexplore.packets import read_capture
from npexplore.packets.statistics import destination_locality, elephants, flow_table, top_talkers, train_lengths
from npexplore.packets.statistics.endpoints import dense, endpoints
from npexplore.packets.statistics.locality import locality

packets = st.lists(
    st.tuples(
        st.integers(0, 30),
        st.integers(1, 3),
        st.integers(1, 3),
        st.sampled_from([5, 6]),
        st.sampled_from([6, 17]),
        st.integers(60, 70),
        st.booleans(),
    ),
    max_size=40,
).map(lambda rows: sorted(rows, key=lambda row: row[0]))


def address(number, six):
    return IPv6Address((0x20010DB8 << 96) + (number << 64) + 1) if six else IPv4Address(number)


def table(rows):
    records = []
    for time, src, dst, port, proto, size, six in rows:
        body = make.tcp(port, 11 - port) if proto == 6 else make.udp(port, 11 - port)
        if six:
            packet = make.ipv6(body, proto, src=address(src, six).packed, dst=address(dst, six).packed)
        else:
            packet = make.ipv4(body, proto=proto, src=src, dst=dst)
        records.append((time, 0, make.ethernet(packet, 0x86DD if six else 0x0800), size))
    return read_capture(io.BytesIO(make.pcap(records))).columns


def plain_flows(rows, both_ways, timeout, active):
    flows, current = [], {}
    for time, a, b, port, proto, size, six in rows:
        src, dst = str(address(a, six)), str(address(b, six))
        key = (src, dst, proto, port, 11 - port)
        name = key
        if both_ways and (dst, src, proto, 11 - port, port) in current:
            name = (dst, src, proto, 11 - port, port)
        flow = current.get(name)
        if flow is None or time - flow["last"] > timeout or time - flow["first"] > active:
            current.pop(name, None)
            name = key
            flow = current[name] = {"key": key, "packets": 0, "bytes": 0, "first": time, "back": 0}
            flows.append(flow)
        flow["packets"] += 1
        flow["bytes"] += size
        flow["last"] = time
        flow["back"] += key != flow["key"]
    return flows


@given(packets, st.booleans(), st.sampled_from([None, 2, 9]), st.sampled_from([None, 5]))
def test_flow_table_equals_plain_flows(rows, both_ways, timeout, active):
    packets = table(rows)
    found = flow_table(packets, both_ways=both_ways, timeout_s=timeout, active_s=active)
    expected = plain_flows(rows, both_ways, timeout or 10**6, active or 10**6)
    ends = (endpoints(packets).text(found[name]) for name in ("src", "dst"))
    keys = list(zip(*ends, *(found[name] for name in ("ip_proto", "sport", "dport")), strict=True))
    assert keys == [flow["key"] for flow in expected]
    assert found["packets"].tolist() == [flow["packets"] for flow in expected]
    assert found["bytes"].tolist() == [flow["bytes"] for flow in expected]
    assert (found["first_ns"] // 10**9).tolist() == [flow["first"] for flow in expected]
    assert found["duration_s"].tolist() == pytest.approx([flow["last"] - flow["first"] for flow in expected])
    if both_ways:
        assert found["packets_back"].tolist() == [flow["back"] for flow in expected]


@given(packets, st.floats(0.05, 1))
def test_elephants_are_the_fewest_flows_with_the_share(rows, share):
    flows = flow_table(table(rows))
    if not len(flows):
        assert len(elephants(flows, share)) == 0
        return
    largest = elephants(flows, share)["bytes"]
    goal = share * flows["bytes"].sum()
    assert largest.sum() >= goal * (1 - 1e-12)
    assert largest.sum() - largest.iloc[-1] < goal
    others = flows["bytes"].drop(largest.index)
    assert largest.min() >= max(others, default=0)


@given(packets, st.sampled_from([1, 3, 10]))
def test_trains_hold_every_packet_once(rows, gap):
    packets = table(rows)
    trains = train_lengths(packets, gap)
    assert trains.sum() == len(rows)
    between_hosts = {**packets.stored, **{name: 0 * packets[name] for name in ("ip_proto", "sport", "dport")}}
    flows = flow_table(replace(packets, stored=between_hosts), both_ways=True, timeout_s=gap)
    assert trains.tolist() == flows["packets"].tolist()
    pairs = {}
    for time, src, dst, *_, six in rows:
        pairs.setdefault((frozenset((src, dst)), six), []).append(time)
    breaks = sum(b - a > gap for times in pairs.values() for a, b in pairwise(times))
    assert len(trains) == len(pairs) + breaks


@given(st.lists(st.integers(-(2**63), 2**63 - 1) | st.integers(0, 5), max_size=60), st.integers(1, 9))
def test_keys_are_numbered_as_they_appear_however_many_are_looked_at_together(keys, together):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys.modules[dense.__module__], "DENSE_KEYS", together)
        numbers, different = dense(np.array(keys, np.int64))
    places = {key: place for place, key in enumerate(dict.fromkeys(keys))}
    assert numbers.tolist() == [places[key] for key in keys]
    assert different == len(places)


@given(st.lists(st.integers(0, 12), max_size=80), st.integers(0, 14))
def test_stack_distance_predicts_an_lru_cache_of_any_size(keys, entries):
    cache, hits = OrderedDict(), 0
    for key in keys:
        hits += key in cache
        cache[key] = True
        cache.move_to_end(key)
        if len(cache) > entries:
            cache.popitem(last=False)
    found = locality(np.array(keys, np.int64))
    assert found.hit_ratio(entries) * len(keys) == pytest.approx(hits)
    assert found.distinct == len(set(keys))


networks = st.builds(
    lambda value, bits: (value >> (32 - bits) << (32 - bits), bits), st.integers(0, 2**32 - 1), st.integers(0, 32)
)


@st.composite
def nested_networks(draw):
    nets = draw(st.lists(networks, max_size=20))
    inside = draw(st.lists(st.sampled_from(nets), max_size=20)) if nets else []
    return nets + [(value, min(32, bits + 3)) for value, bits in inside]


@given(nested_networks(), st.lists(st.integers(0, 2**32 - 1), max_size=20), st.integers(0, 255))
def test_longest_match_equals_trying_every_prefix(nets, addresses, low):
    nets = sorted(nets)
    addresses = [*addresses, *(value for value, _ in nets), *((value + low) % 2**32 for value, _ in nets)]
    value, length = (np.array([net[k] for net in nets], np.int64) for k in (0, 1))
    found = longest_match(np.array(addresses, np.int64), value, length)
    for address, row in zip(addresses, found.tolist(), strict=True):
        holding = [bits for v, bits in nets if address in range(v, v + 2 ** (32 - bits))]
        assert (nets[row][1] if row >= 0 else None) == max(holding, default=None)
        assert row < 0 or address >> (32 - nets[row][1]) == nets[row][0] >> (32 - nets[row][1])


def test_destinations_by_prefix_and_by_route():
    columns = table([(n, 1, dst, 5, 17, 60, False) for n, dst in enumerate([1, 2, 3, 1, 9, 2])])
    assert destination_locality(columns).distance.tolist() == [-1, -1, -1, 2, -1, 3]
    assert destination_locality(columns, prefix_bits=30).distance.tolist() == [-1, 0, 0, 0, -1, 1]
    net = IPv4Network("0.0.0.0/30")
    routes = np.array([int(net.network_address)], np.uint32), np.array([30], np.uint8)
    assert destination_locality(columns, prefixes=routes).distance.tolist() == [-1, 0, 0, 0, -1, 1]


def test_destinations_of_both_versions_in_the_order_of_the_packets():
    columns = table([(n, 1, dst, 5, 17, 60, n % 2 == 1) for n, dst in enumerate([1, 1, 2, 1, 1, 2])])
    assert destination_locality(columns).distance.tolist() == [-1, -1, -1, 1, 2, -1]
    shorter = destination_locality(columns, prefix_bits=8, ipv6_prefix_bits=32)
    assert shorter.distance.tolist() == [-1, -1, 1, 1, 1, 1]
    assert destination_locality(columns, prefix_bits=0, ipv6_prefix_bits=0).distinct == 2
    routes = np.array([0], np.uint32), np.array([30], np.uint8)
    assert destination_locality(columns, prefixes=routes).distance.tolist() == [-1, -1, 1, 1, 1, -1]
    with pytest.raises(InputError, match="IPv6 prefix bits must be 0 to 128, got 129"):
        destination_locality(columns, ipv6_prefix_bits=129)


@given(packets)
def test_talkers_of_both_versions_send_every_byte_once(rows):
    sent = {}
    for _, src, _, _, _, size, six in rows:
        name = str(address(src, six))
        sent[name] = sent.get(name, 0) + size
    found = top_talkers(table(rows), 100)
    assert dict(zip(found["address"], found["bytes"], strict=True)) == sent
    assert found["bytes"].is_monotonic_decreasing
