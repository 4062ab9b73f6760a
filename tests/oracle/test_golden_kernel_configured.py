"""The profile `linux` against the Linux kernel, the configuration drawn as well: as recorded, live where that can be.

`python tests/reference/kernel_hunt.py MINUTES` does the live one for as long as wanted.
"""

import msgspec
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from reference import kernel_recording as recording
from reference.kernel_hunt import cases, compare, differs
from reference.repeated import in_some_run
from reference.setting_cases import BASE, framed, setting_cases, v6

from npexplore.golden.router.configuration import resolve_router
from npexplore.golden.router.forward import Forwarder
from npexplore.golden.router.records import NextHopRecord, RouteRecord
from npexplore.testing.linux_kernel import why_not

RECORDED = recording.read("configured")
RECORDS = {name: record for name, record, _, _ in setting_cases()}


def test_recorded_cases_are_those_of_today():
    assert [row[:3] for row in RECORDED] == [(name, port, frame) for name, _, port, frame in setting_cases()]
    assert recording.lines_of("configured")[0]["cases"] == len(RECORDED) >= 55


@pytest.mark.parametrize(
    ("name", "port", "frame", "out"), [pytest.param(*row, id=row[0].replace(" ", "-")) for row in RECORDED]
)
def test_golden_does_what_was_recorded(name, port, frame, out):
    outcome = Forwarder(resolve_router(RECORDS[name]), lookup="binary_trie").forward(port, frame)
    assert differs(outcome, frame, out) is None


def test_a_recorded_octet_that_is_changed_is_noticed():
    name, port, frame, out = next(row for row in RECORDED if row[0].startswith("IPv6: way back"))
    changed = [(number, data[:30] + bytes([data[30] ^ 1]) + data[31:]) for number, data in out]
    outcome = Forwarder(resolve_router(RECORDS[name]), lookup="binary_trie").forward(port, frame)
    assert differs(outcome, frame, changed) is not None


PART = RouteRecord(prefix="2001:db8:1:9::/80", via="2001:db8:2::2")
THROUGH_IT = RouteRecord(
    prefix="2001:db8:1::/48",
    next_hops=[NextHopRecord(via="2001:db8:1::2"), NextHopRecord(via="2001:db8:1:9::2", port="p1")],
)


@pytest.mark.parametrize("routes", [(PART, THROUGH_IT), (THROUGH_IT, PART)], ids=["part first", "part last"])
def test_the_kernel_takes_next_hops_in_a_part_of_their_link_that_another_port_routes(routes):
    """It refuses such a next hop while the route of the part is there, and so is told that route last."""
    reason = why_not()
    if reason is not None:
        pytest.skip(f"the Linux kernel cannot be asked: {reason}")
    record = msgspec.structs.replace(BASE, route=list(routes))
    packets = [v6("2001:db8::9", f"2001:db8:1:{net}::7") for net in ("9", "9:1", "a")]
    assert in_some_run(lambda: compare(record, [(0, framed(packet)) for packet in packets])) == len(packets)


def test_answers_to_a_group_need_no_neighbour():
    """An error that goes back through 224.0.0.1 goes to the group's own MAC address, where its route is a link."""
    reason = why_not()
    if reason is not None:
        pytest.skip(f"the Linux kernel cannot be asked: {reason}")
    record = msgspec.structs.replace(BASE, route=[RouteRecord(prefix="0.0.0.0/0", port="p0")])
    head = "4900002c0000000000012f3b0a0000020a00000101830b0c00000000e0000001830304000800f7ff00000000"
    assert in_some_run(lambda: compare(record, [(0, framed(bytes.fromhex(head)))])) == 1


@pytest.mark.slow
@settings(
    max_examples=20, deadline=None, suppress_health_check=list(HealthCheck), phases=(Phase.generate, Phase.shrink)
)
@given(case=cases())
def test_the_kernel_does_the_same_with_any_configuration(case):
    reason = why_not()
    if reason is not None:
        pytest.skip(f"the Linux kernel cannot be asked: {reason}")
    in_some_run(lambda: compare(*case))
