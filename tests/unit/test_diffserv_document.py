"""docs/diffserv.md and classifiers.md say what is so: keys, names and examples of the DiffServ edge."""

import re
from pathlib import Path

import numpy as np
import pytest

from npexplore.golden.classify.rule_files import rules_schema
from npexplore.golden.diffserv import Fate
from npexplore.golden.police import POLICERS
from npexplore.golden.schedule import SCHEDULERS
from npexplore.golden.schedule.ranked import RANKED

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "diffserv.md").read_text() + (DOCS / "classifiers.md").read_text()
TOLD = [name for name in SCHEDULERS if name not in RANKED]  # a rank tells its promise where it is defined
BLOCKS = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


def run(word):
    """Run the block that holds a word; return what its expressions with a comment came to."""
    space, found = {}, []
    for line in next(block for block in BLOCKS if word in block).splitlines():
        code, comment, _ = line.partition("#")
        if comment and "=" not in code.split("(")[0]:
            found.append(eval(code, space))
        else:
            exec(line, space)
    return found


@pytest.mark.parametrize("name", [*POLICERS, *TOLD])
def test_every_name_has_a_row(name):
    assert f"\n| `{name}` |" in PAGE


def test_every_key_is_told():
    keys = {key for schema in rules_schema()["$defs"].values() for key in schema.get("properties", {})}
    assert {
        key for key in keys if not re.search(rf"`{key}`|\[{key}\.|^{key} = |\[\[{key}\]\]", PAGE, re.MULTILINE)
    } == set()


def test_every_drop_is_told():
    assert {fate.name for fate in (Fate.POLICED, Fate.QUEUE_FULL, Fate.EARLY) if f"`{fate.name}`" not in PAGE} == set()


def test_example_of_a_policer():
    np.testing.assert_array_equal(run("LeakyBucket")[0], [0, 0, 2, 0])


def test_example_of_flows_that_share_a_link():
    shares, delays = run("load_sweep")
    assert shares == [0.42, 0.33, 0.17, 0.08]
    np.testing.assert_allclose(delays, [0.0, 1.3, 2.6, 5.2])


@pytest.mark.parametrize("name", TOLD)
def test_promises_are_those_of_the_table(name):
    """The formulas of the table, evaluated for three classes."""
    weights = [3000, 2000, 1700] if SCHEDULERS[name].IN_BYTES else [3, 2, 1]
    scheduler, largest = SCHEDULERS[name](weights), 4000
    first, second, last = weights
    turns = -(-largest // last)
    others = first + second
    fair = {
        "drr": 1 + largest / first + largest / second, "priority_drr": 2 + largest / first + largest / second,
        "wrr": 1, "scfq": largest / first + largest / second,
    }  # fmt: skip
    waits = {
        "drr": turns * others + 2 * largest, "priority_drr": (turns + 1) * others + 2 * largest,
        "wrr": others * largest, "scfq": others * largest / last + 2 * largest,
        "wfq": 3 * largest * sum(weights) / last + largest,
    }  # fmt: skip
    unfairness, bytes_of_others = scheduler.unfairness(0, 1, largest), scheduler.starvation_bytes(2, largest)
    assert (unfairness is None) == (name not in fair)
    assert (bytes_of_others is None) == (name not in waits)
    assert unfairness is None or float(unfairness) == pytest.approx(fair[name])
    assert bytes_of_others is None or float(bytes_of_others) == pytest.approx(waits[name])
