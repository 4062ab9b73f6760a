"""Bytes that cross PCI Express for a packet, in bounds and simulation, against the headers of the specification.

Worked out apart, packet by packet: framing 4 and LCRC 4 around each; a header of four words for writes and requests
(64-bit addresses), of three for completions; writes and completions cut at the largest payload, requests at theirs.
"""

import pytest

import npexplore as npx
from npexplore.errors import InputError, ModelError
from npexplore.machine.described.parts import part

PAYLOAD, REQUEST = 256, 512
LINK, FOUR_WORDS, THREE_WORDS = 4 + 4, 16, 12
TOLL = 1 - 2 * 8 / 203 - 4 / 1538  # acknowledgements and flow control, clock compensation


def cut(size, most):
    """The pieces of a transfer."""
    return [min(most, size - at) for at in range(0, size, most)]


def written(size):
    return sum(LINK + FOUR_WORDS + piece for piece in cut(size, PAYLOAD))


def asked(size):
    return sum(LINK + FOUR_WORDS for _ in cut(size, REQUEST))


def answered(size):
    return sum(LINK + THREE_WORDS + piece for piece in cut(size, PAYLOAD))


def server(frame, packed, egress):
    """Bytes up and down a packet: 64 descriptors of 16 and of 64 bytes, 64-byte completions, doorbells of 8."""
    data = frame - 4
    block = written(64) * (1 + -(-63 * 8 // 64)) / 64
    up = written(data) + (block if packed else written(64)) + asked(16 * 64) / 64
    down = answered(16 * 64) / 64 + written(8) / 64
    if egress:
        up += asked(data) + asked(64 * 64) / 64 + written(64) / 64
        down += answered(data) + answered(64 * 64) / 64 + written(8) / 64
    return up, down


def smartnic(length, packed):
    """16 bytes written for each packet or for several, 32 descriptors of 16 bytes, an interrupt for 64 packets."""
    data = max(length + 18, 64) - 4
    up = written(data) + written(16) / packed + asked(16 * 32) / 32 + written(4) / 64
    return up, answered(16 * 32) / 32 + written(8) / 32


def carried(design, load, link, lanes, gtps):
    """Bytes a packet of both directions, in bounds and in simulation: busy time on the wires."""
    byte = 8 / (lanes * gtps * 1e9 * 128 / 130) / TOLL
    limit, seen = design.bounds(load), design.simulate(load, packets=6000, breakdown=False)
    return [
        [one.utilization[f"{link}.{way}"].busy / one.rate_pps / byte for way in ("up", "down")] for one in (limit, seen)
    ]


@pytest.mark.parametrize("frame", [64, 260, 261, 1518])
@pytest.mark.parametrize(("knobs", "packed", "egress"), [
    ({"program": "drop", "cqe_compress": "on"}, True, False),
    ({"program": "tx", "egress": "same_port"}, False, True),
    ({"stack": "dpdk", "program": "forward", "egress": "same_port"}, True, True),
])  # fmt: skip
def test_the_server_moves_what_the_headers_say(frame, knobs, packed, egress):
    design = npx.design("server").with_(cores=6, ring=256, **knobs)
    limit, seen = carried(design, npx.workload(packet_bytes=frame), "rx", 16, 8)
    assert limit == pytest.approx(server(frame, packed, egress), rel=1e-9)
    assert seen == pytest.approx(limit, rel=0.01)


@pytest.mark.parametrize("length", [46, 256, 1500])
@pytest.mark.parametrize("packed", [1, 8])
def test_the_card_moves_what_the_headers_say(length, packed):
    design = npx.design("smartnic").with_(packed=packed)
    limit, seen = carried(design, npx.workload(packet_bytes=length), "pcie", 16, 16)
    assert limit == pytest.approx(smartnic(length, packed), rel=1e-9)
    assert seen == pytest.approx(limit, rel=0.01)


def test_a_completion_larger_than_the_payload_is_refused():
    with pytest.raises(ModelError, match=r"bytes of a completion must be in 0\.\.128, got 256"):
        npx.design("smartnic").with_(descriptor_bytes=256, payload_bytes=128).bounds(npx.workload(packet_bytes=64))


def test_a_packet_that_its_credits_never_hold_is_refused():
    """9,014 bytes and 16 take 565 credits; a link's credits for data hold one payload at least."""
    with pytest.raises(ModelError, match=r"565.*96|96.*565"):
        npx.design("smartnic").with_(credits=96).bounds(npx.workload(packet_bytes=9000))
    with pytest.raises(InputError, match=r"data_credits \* p.credit_bytes, which is 3200, got 4096: a packet waits"):
        part("pcie_link", "link", generation=3, lanes=8, payload_bytes=4096, data_credits=200)


@pytest.mark.parametrize(("kind", "given", "rule"), [
    ("pcie_wires", {"lanes": 33}, "parameter 'lanes' must be one of 1, 2, 4, 8, 12, 16, 32, got 33"),
    ("pcie_wires", {"request_bytes": 300}, "parameter 'request_bytes' must be one of 128, 256, 512, 1024, 2048, 4096"),
    ("pcie_wires", {"completion_header_bytes": 13}, "parameter 'completion_header_bytes' must be one of 12, 16 bytes"),
    ("pcie_wires", {"doorbell_bytes": 512}, "p.doorbell_bytes must be at most p.payload_bytes, which is 256, got 512"),
    ("pcie_wires", {"generation": 7}, "parameter 'generation' must be in 1..6, got 7"),
    ("pcie_wires", {"ack_every": 16}, "parameter 'ack_every' must be at least 32 bytes, got 16"),
    ("pcie_link", {"write_header_bytes": 20}, "parameter 'write_header_bytes' must be one of 12, 16 bytes, got 20"),
    ("pcie_link", {"framing_bytes": 99}, "parameter 'framing_bytes' must be one of 8, 12 bytes, got 99"),
    ("pcie_link", {"header_credits": 0}, "parameter 'header_credits' must be in 1..128, got 0"),
    ("pcie_link", {"tags": 0}, "parameter 'tags' must be in 1..1024, got 0"),
    ("cpu_caches", {"l3_ways": 7}, "p.l3_kb * 1024 % (p.l3_ways * p.line_bytes) must be at most 0, got 256: a"),
    ("cpu_caches", {"l1_kb": 512}, "p.l1_kb must be at most p.l2_kb, which is 256, got 512: a nearer cache is"),
    ("cpu_caches", {"page_bytes": 100}, "p.page_bytes % p.line_bytes must be at most 0, got 36: a page holds whole"),
    ("cpu_caches", {"device_ways": 21}, "p.device_ways must be at most p.l3_ways, which is 20, got 21: devices take"),
    ("cpu_caches", {"translations": -1}, "parameter 'translations' must be at least 0, got -1"),
])  # fmt: skip
def test_links_and_caches_that_cannot_be_are_refused(kind, given, rule):
    known = {} if kind == "cpu_caches" else {"generation": 3, "lanes": 8}
    with pytest.raises(InputError) as caught:
        part(kind, "mine", **{**known, **given})
    assert str(caught.value).startswith(f"{kind}.toml: {rule}")


def test_a_ring_of_zero_is_refused():
    with pytest.raises(InputError, match=r"knob ring must be in 1\.\.65536, got 0"):
        npx.design("server").with_(ring=0)
