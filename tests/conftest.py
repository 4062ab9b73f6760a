"""What all suites share: profiles of hypothesis, marks by folder, no skipping in CI, and `tests` as an import path."""

import os
import sys
from pathlib import Path

import pytest
from hypothesis import settings

TESTS = Path(__file__).parent
IN_CI = os.environ.get("CI", "").lower() in ("1", "true")

sys.path.insert(0, str(TESTS))

settings.register_profile("npexplore", deadline=None)  # the first call of a kernel compiles it
settings.register_profile("ci", deadline=None, derandomize=True)
settings.load_profile("ci" if IN_CI else "npexplore")


def pytest_collection_modifyitems(items):
    """Mark tests by their folder: `oracle` needs other programs, `fuzz` takes as long as it is given."""
    for item in items:
        folder = item.path.relative_to(TESTS).parts[0] if item.path.is_relative_to(TESTS) else ""
        if folder in ("oracle", "fuzz"):
            item.add_marker(folder)


def _skip_fails(report):
    if IN_CI and report.skipped and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"skipped, which CI does not allow: {report.longrepr}"
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport():
    return _skip_fails((yield))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report():
    return _skip_fails((yield))
