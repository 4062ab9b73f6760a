"""What all suites share: profiles of hypothesis, marks by folder, no skipping in CI, and `tests` as an import path.

Tests that ask the kernel of this machine (fixture `kernel`) are left out where network namespaces may not be made, with
a line that says so; there its recorded answers decide, in CI too.
"""

import gc
import os
import sys
from pathlib import Path
from zlib import crc32

import pytest
from hypothesis import HealthCheck, settings

from npexplore.imports import spare_iri_grammar

TESTS = Path(__file__).parent
# Lines of progress depend on the clock; test_progress switches them on again for the commands that it runs.
os.environ["TQDM_DISABLE"] = "1"
# A checkout may be somebody else's, as in a container: git lists its files still.
os.environ |= {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "safe.directory", "GIT_CONFIG_VALUE_0": "*"}
IN_CI = os.environ.get("CI", "").lower() in ("1", "true")

sys.path.insert(0, str(TESTS))
spare_iri_grammar()

# Nothing is judged by the clock: the first call of a kernel compiles it, and a busy machine draws slowly. Examples are
# few, for most planted faults are seen with ten; `make laws` draws more.
USUAL = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow], "max_examples": 50}
if not os.access(TESTS.parent, os.W_OK):
    USUAL["database"] = None
settings.register_profile("npexplore", **USUAL)
settings.register_profile("ci", derandomize=True, **USUAL)
settings.load_profile("ci" if IN_CI else "npexplore")


# `make laws`: only tests of properties, each with so many times its examples, from fresh seeds; "2/8": a part of them
TIMES = int(os.environ.get("NPEXPLORE_LAWS_TIMES", "0"))
PART, PARTS = (int(number) for number in os.environ.get("NPEXPLORE_LAWS_PART", "1/1").split("/"))

LEFT_OUT = pytest.StashKey[str]()


def pytest_collection_modifyitems(config, items):
    """Mark tests by their folder: `oracle` needs other programs, `fuzz` takes as long as it is given."""
    for item in items:
        folder = item.path.relative_to(TESTS).parts[0] if item.path.is_relative_to(TESTS) else ""
        if folder in ("oracle", "fuzz"):
            item.add_marker(folder)
    if TIMES:
        _properties_alone(config, items)
    live = [item for item in items if "kernel" in getattr(item, "fixturenames", ())]
    if live and (reason := _why_no_kernel()):
        items[:] = [item for item in items if item not in live]
        config.hook.pytest_deselected(items=live)
        config.stash[LEFT_OUT] = f"live kernel: {len(live)} tests left out, its recordings decide: {reason}"


def _properties_alone(config, items):
    """Leave out what has no examples, and give the rest more of them."""
    laws = [item for item in items if getattr(item.obj, "is_hypothesis_test", False)]
    laws = [item for item in laws if crc32(item.nodeid.encode()) % PARTS == PART - 1]
    for test in {getattr(item.obj, "__func__", item.obj) for item in laws}:
        plan = test._hypothesis_internal_use_settings
        test._hypothesis_internal_use_settings = settings(
            plan, max_examples=TIMES * plan.max_examples, derandomize=False
        )
    config.hook.pytest_deselected(items=[item for item in items if item not in laws])
    items[:] = laws


def _why_no_kernel():
    from npexplore.testing.linux_kernel import why_not

    return why_not()


def pytest_report_collectionfinish(config):
    """Tell what was left out. Modules and tests stay to the end: garbage is looked for elsewhere, a tenth is saved."""
    gc.freeze()
    gc.set_threshold(20_000, 10, 10)
    return config.stash.get(LEFT_OUT, None) or []


def pytest_terminal_summary(terminalreporter, config):
    """Tell it again where it is read, also under `-q`."""
    if LEFT_OUT in config.stash:
        terminalreporter.write_line(config.stash[LEFT_OUT], yellow=True)


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
