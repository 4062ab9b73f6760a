"""Several next hops: a flow keeps to one both ways, flows are shared by weight, the batch chooses as the reference."""

import msgspec
import numpy as np
import pytest
from reference.setting_cases import BASE, framed, v4, v6

from npexplore.golden.linux.settings import LinuxSettings
from npexplore.golden.router.batch import BatchForwarder, Frames
from npexplore.golden.router.configuration import resolve_router
from npexplore.golden.router.flow_hash import Flow, flow_hash
from npexplore.golden.router.forward import Forwarder
from npexplore.golden.router.profiles import PROFILES

POLICIES = [(0, 7), (1, 7), (3, 0x01), (3, 0x08), (3, 0x3F)]


def settings(policy, fields, seed=9):
    return LinuxSettings(
        fib_multipath_hash_policy=policy, fib_multipath_hash_fields=fields, fib_multipath_hash_seed=seed
    )


def packets(rng, count):
    """Return packets to and from behind several next hops, of both families, many protocols, pieces, errors."""
    made = []
    for _ in range(count):
        one, other, protocol = f"10.3.{rng.integers(250)}.{rng.integers(1, 250)}", f"40.0.0.{rng.integers(250)}", 17
        six = f"2001:db8::{rng.integers(1, 9999)}", f"2001:db8:40::{rng.integers(1, 9999)}"
        protocol = int(rng.choice([17, 17, 6, 6, 1, 58, 47, 50, 51, 132, 60]))
        payload = rng.bytes(int(rng.choice([2, 4, 40])))
        ends, ends6 = ((one, other), six) if rng.random() < 0.8 else ((other, "20.0.0.1"), (six[1], "2001:db8:a::1"))
        flags, hops = int(rng.choice([0, 0, 1])), int(rng.choice([1, 64, 64]))
        made.append(v4(*ends, payload, protocol=protocol, flags=flags, ttl=hops))
        label = int(rng.integers(1 << 20))
        made.append(v6(*ends6, payload, next_header=protocol, flow_label=label, hop_limit=hops))
    return made


@pytest.mark.parametrize("policy", POLICIES)
def test_batch_chooses_as_the_reference(policy):
    router = resolve_router(msgspec.structs.replace(BASE, linux=settings(*policy)))
    rows = [(0, framed(packet), 0) for packet in packets(np.random.default_rng(3), 150)]
    reference, batch = Forwarder(router, lookup="binary_trie"), BatchForwarder(router, lookup="binary_trie")
    made = batch.forward(Frames.of(rows))
    ours = [(k, int(p), f) for k, p, f in zip(made.packet.tolist(), made.port, made.frames, strict=True)]
    assert ours == [(k, s.port, s.frame) for k, row in enumerate(rows) for s in reference.forward(*row).sent]
    assert set(made.port[~made.icmp].tolist()) == {0, 1, 2}


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("six", [False, True])
def test_flows_are_shared_by_weight(profile, six):
    record = msgspec.structs.replace(BASE, profile=profile, linux=LinuxSettings())
    golden, count, weights = (
        Forwarder(resolve_router(record), lookup="binary_trie"),
        3000,
        (1, 2, 1) if six else (3, 1, 2),
    )
    ports = np.zeros(3, int)
    for k in range(count):
        packet = v6("2001:db8:c::9", f"2001:db8:40::{k:x}") if six else v4("22.0.0.9", f"40.1.{k >> 8}.{k & 255}")
        (sent,) = (one for one in golden.forward(2, framed(packet, 2)).sent if not one.icmp)
        ports[sent.port] += 1
    share = np.array(weights) / sum(weights)
    assert np.all(np.abs(ports - count * share) < 4 * np.sqrt(count * share * (1 - share)))


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("bits", [32, 128])
def test_both_directions_of_a_flow_have_one_hash(policy, bits):
    rng = np.random.default_rng(7)
    for _ in range(50):
        ends = [int.from_bytes(rng.bytes(bits // 8)) for _ in range(2)]
        ports = rng.integers(1 << 16, size=2).tolist()
        there, back = (Flow(bits, *e, 6, 5, *p) for e, p in ((ends, ports), (ends[::-1], ports[::-1])))
        assert flow_hash(there, settings(*policy)) == flow_hash(back, settings(*policy)) < 1 << 31
        assert flow_hash(there, settings(*policy)) != flow_hash(there, settings(*policy, seed=10))
