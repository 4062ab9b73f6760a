"""The profile `linux` against the Linux kernel: as recorded, on every machine; live, where namespaces may be made.

`python tests/reference/kernel_recording.py` records anew; docs/golden.md tells what is left out of the comparison.
"""

from functools import cache

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from reference import kernel_recording as recording
from reference.repeated import in_some_run
from reference.router_random import random_cases

from npexplore.golden.compare.difference import first_difference
from npexplore.golden.compare.masked import without_time
from npexplore.golden.router.forward import Forwarder
from npexplore.testing import frames, router_configurations
from npexplore.testing.kernel_limits import Told
from npexplore.testing.linux_kernel import LinuxKernel, why_not

SEEDS = (11, 55)  # not the recorded one
FRAMES_A_SEED = 4000


@cache
def suite(name):
    """Return (router, cases) of a suite."""
    return recording.suites()[name]


@cache
def golden(name):
    """Return the golden router of a suite."""
    return Forwarder(suite(name)[0], profile="linux")


@pytest.fixture(scope="session")
def kernel():
    """Make kernel routers; without the right to, a test is skipped (in CI it fails)."""
    reason = why_not()
    if reason is not None:
        pytest.skip(f"the Linux kernel cannot be asked: {reason}")
    return LinuxKernel


def same(router, port, frame, got):
    """Check one frame: no difference, octet for octet but for what is free."""
    outcome = router.forward(port, frame)
    assert first_difference(outcome.sent, got, [(outcome.reason, frame)] if outcome.reason else []) is None
    masked = [(sent.port, without_time(sent.frame, sent.icmp)) for sent in outcome.sent]
    icmp = [sent.icmp for sent in outcome.sent]
    assert masked == [(number, without_time(data, made)) for (number, data), made in zip(got, icmp, strict=True)]


def test_recordings_tell_the_version_of_the_kernel():
    for name in ("named", "random"):
        head, *rows = recording.lines_of(name)
        assert head["cases"] == len(rows)
        assert int(head["kernel"].split(".")[0]) >= 5
    assert len(recording.read("named")) >= 400
    assert len(recording.read("random")) == 4000


@pytest.mark.parametrize("name", ["named", "random"])
def test_recorded_cases_are_those_of_today(name):
    cases = [(case, port, frame) for case, port, frame, _ in recording.read(name)]
    assert cases == suite(name)[1]


@pytest.mark.parametrize(
    ("port", "frame", "out"), [pytest.param(*row[1:], id=row[0].replace(" ", "-")) for row in recording.read("named")]
)
def test_golden_does_what_was_recorded(port, frame, out):
    same(golden("named"), port, frame, out)


def test_golden_does_what_was_recorded_of_random_packets():
    for _, port, frame, out in recording.read("random"):
        same(golden("random"), port, frame, out)


def test_a_recorded_octet_that_is_changed_is_noticed():
    _, port, frame, out = next(row for row in recording.read("named") if row[3])
    changed = [(number, data[:22] + bytes([data[22] ^ 1]) + data[23:]) for number, data in out]
    with pytest.raises(AssertionError):
        same(golden("named"), port, frame, changed)


def test_the_kernel_does_the_same_with_named_cases(kernel):
    router, cases = suite("named")
    in_some_run(lambda: compared(kernel, router, golden("named"), cases))


def compared(kernel, router, ours, cases):
    """Send frames through a new kernel and assert that it does as the golden router."""
    with kernel(router) as asked:
        for _, port, frame in cases:
            same(ours, port, frame, asked.forward(port, frame))


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_the_kernel_does_the_same_with_random_packets(kernel, seed):
    router, _ = suite("random")
    in_some_run(lambda: compared(kernel, router, golden("random"), random_cases(router, FRAMES_A_SEED, seed)))


@pytest.mark.slow
@settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(data=st.data())
def test_the_kernel_does_the_same_with_any_router(kernel, data):
    router = data.draw(router_configurations(profile="linux"))
    drawn = data.draw(st.lists(frames(router), min_size=1, max_size=40))
    mine, told = Forwarder(router), Told()
    sure = [("", port, frame) for port, frame in drawn if told.may_ask(port, frame, mine.forward(port, frame))]
    in_some_run(lambda: compared(kernel, router, mine, sure))
