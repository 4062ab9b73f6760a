"""The kernel's conformance table: docs/conformance.md is what was recorded, and the live kernel does the same."""

import pytest
from reference.conformance_cases import DOCUMENT, MARKS, ROUTER, conformance, recorded, table
from reference.kernel_limits import Told

from npexplore.testing.examining import judge_of
from npexplore.testing.linux_kernel import LinuxKernel


@pytest.fixture
def kernel():
    """A kernel router; tests that want one are left out where namespaces may not be made."""
    with LinuxKernel(ROUTER) as made:
        yield made


def test_the_document_has_the_table_of_the_recorded_answers():
    assert DOCUMENT.read_text().split(MARKS[0])[1].split(MARKS[1])[0] == table()


def test_the_kernel_of_this_machine_holds_every_rule_of_its_profile(kernel):
    golden, told = judge_of(ROUTER, "linux"), Told(ROUTER)
    asked = [(port, frame) for port, frame, _ in recorded() if told.may_ask(port, frame, golden.forward(port, frame))]
    kernel.introduce(asked)
    found = conformance([(port, frame, kernel.forward(port, frame)) for port, frame in asked], "linux")
    assert found.frames > 500
    found.raise_if_failed()
