"""The profile `linux` against the Linux kernel, the configuration drawn as well: as recorded, live where that can be.

`python tests/reference/kernel_hunt.py MINUTES` does the live one for as long as wanted.
"""

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from reference import kernel_recording as recording
from reference.kernel_hunt import cases, compare, differs
from reference.setting_cases import setting_cases

from npexplore.golden.router.configuration import resolve
from npexplore.golden.router.forward import Forwarder
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
    outcome = Forwarder(resolve(RECORDS[name]), lookup="binary_trie").forward(port, frame)
    assert differs(outcome, frame, out) is None


def test_a_recorded_octet_that_is_changed_is_noticed():
    name, port, frame, out = next(row for row in RECORDED if row[0].startswith("IPv6: way back"))
    changed = [(number, data[:30] + bytes([data[30] ^ 1]) + data[31:]) for number, data in out]
    outcome = Forwarder(resolve(RECORDS[name]), lookup="binary_trie").forward(port, frame)
    assert differs(outcome, frame, changed) is not None


@pytest.mark.slow
@settings(
    max_examples=20, deadline=None, suppress_health_check=list(HealthCheck), phases=(Phase.generate, Phase.shrink)
)
@given(case=cases())
def test_the_kernel_does_the_same_with_any_configuration(case):
    reason = why_not()
    if reason is not None:
        pytest.skip(f"the Linux kernel cannot be asked: {reason}")
    compare(*case)
