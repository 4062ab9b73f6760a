"""Any configuration that a Linux kernel can be: the batch does what the reference does, and counts the same."""

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.kernel_routers import any_frames, kernel_configurations
from reference.setting_cases import setting_cases

from npexplore.golden.ipv4.header import write_packet
from npexplore.golden.ipv4.host import summed
from npexplore.golden.linux.settings import DEFAULTS
from npexplore.golden.reasons import Reason
from npexplore.golden.router.batch import BatchForwarder, Frames
from npexplore.golden.router.configuration import resolve_router
from npexplore.golden.router.forward import Forwarder
from npexplore.golden.router.policy import Policy
from npexplore.golden.router.profiles import PROFILES
from npexplore.golden.router.records import PortRecord, RouteRecord, RouterFile

VLAN = PortRecord(name="v", address="77.0.0.1/24", address6="2001:db8:77::1/64", on="p0", vlan=5, mtu=1280)
BY_VLAN = RouteRecord(prefix="78.0.0.0/8", via="77.0.0.2")

CARRIER = RouterFile(
    port=[PortRecord(name="p0", address="10.0.0.1/24", mac="02:00:00:00:00:00", peer_mac="02:00:00:00:01:00"),
          msgspec.structs.replace(VLAN, address6=None)],
    route=[BY_VLAN],
)  # fmt: skip


@st.composite
def cases(draw, profile):
    """A router of a profile, and frames for it."""
    record = draw(kernel_configurations())
    if draw(st.booleans()):
        mtu = record.port[0].mtu
        vlan = msgspec.structs.replace(VLAN, mtu=mtu, address6=VLAN.address6 if mtu >= VLAN.mtu else None)
        record = msgspec.structs.replace(record, port=[*record.port, vlan], route=[*record.route, BY_VLAN])
    if profile != "linux":
        record = msgspec.structs.replace(record, profile=profile, linux=DEFAULTS)
    router = resolve_router(record)
    return router, draw(st.lists(any_frames(router), max_size=30))


@pytest.mark.parametrize("profile", PROFILES)
@settings(max_examples=15)
@given(data=st.data())
def test_batch_equals_reference(profile, data):
    router, rows = data.draw(cases(profile))
    reference, batch = (kind(router, lookup="binary_trie") for kind in (Forwarder, BatchForwarder))
    outcomes = [reference.forward(port, frame, k) for k, (port, frame) in enumerate(rows)]
    made = batch.forward(Frames.of([(port, frame, k) for k, (port, frame) in enumerate(rows)]))
    assert made.reason.tolist() == [outcome.reason for outcome in outcomes]
    ours = [(row, int(made.port[k]), bool(made.icmp[k]), made.frames[k]) for k, row in enumerate(made.packet.tolist())]
    assert ours == [(k, s.port, s.icmp, s.frame) for k, outcome in enumerate(outcomes) for s in outcome.sent]
    assert batch.counters == dict(reference.counters)


@pytest.mark.parametrize("profile", PROFILES)
def test_vlans_are_interfaces_of_their_own(profile):
    record = msgspec.structs.replace(CARRIER, profile=profile)
    router = resolve_router(record)
    head, packet = router.ports[0].mac + router.ports[0].peer_mac, write_packet(0x0A000002, 0x4E000001, b"data")
    forwarder = Forwarder(router, lookup="binary_trie")
    out = forwarder.forward(0, head + b"\x08\0" + packet)
    assert [(sent.port, sent.frame[12:18].hex()) for sent in out.sent] == [(0, "810000050800")]
    back = forwarder.forward(0, head + b"\x81\0\x60\5\x08\0" + write_packet(0x4D000002, 0x0A000007, b"data"))
    assert [(sent.port, sent.frame[12:14].hex()) for sent in back.sent] == [(0, "0800")]
    assert forwarder.forward(0, head + b"\x81\0\0\6\x08\0" + packet).reason is Reason.UNKNOWN_VLAN
    assert forwarder.forward(0, head + b"\x81\0\xe0\0\x08\0" + packet).sent == out.sent


@pytest.mark.parametrize("profile", PROFILES)
def test_a_router_answers_as_a_host_where_it_shall(profile):
    echo = write_packet(0x0A000002, 0x0A000001, summed(b"\x08\0\0\0\1\2\3\4data"), protocol=1, tos=4)
    frame = bytes.fromhex("020000000000") + bytes.fromhex("020000000100") + b"\x08\0" + echo
    silent = Forwarder(resolve_router(msgspec.structs.replace(CARRIER, profile=profile)), lookup="binary_trie")
    assert silent.forward(0, frame).sent == ()
    router = resolve_router(msgspec.structs.replace(CARRIER, profile=profile, policy=Policy(answers=True)))
    (sent,) = Forwarder(router, lookup="binary_trie").forward(0, frame).sent
    assert sent.frame[14:] == write_packet(0x0A000001, 0x0A000002, summed(b"\0\0\0\0\1\2\3\4data"), protocol=1, tos=4)


@pytest.mark.parametrize("family", ["", "IPv6: "])
def test_batch_and_reference_send_to_a_listed_neighbour_on_its_own_link_alone(family):
    name = f"{family}listed on a link, routed by another one, neighbours known"
    record, port, frame = next(row[1:] for row in setting_cases() if row[0] == name)
    for records, mac in ((record.route, "020000000100"), (record.route[:-2], "020000000944")):
        router = resolve_router(msgspec.structs.replace(record, route=records))
        assert Forwarder(router, lookup="binary_trie").forward(port, frame).sent[0].frame[:6].hex() == mac
        made = BatchForwarder(router, lookup="binary_trie").forward(Frames.of([(port, frame, 0)] * 2))
        assert [bytes(one)[:6].hex() for one in made.frames] == [mac, mac]
