"""The example of docs/queueing.md runs and says what the page claims."""

import re
from pathlib import Path

import numpy as np

from npexplore import queueing

PAGE = (Path(__file__).parents[2] / "docs" / "queueing.md").read_text()


def test_the_example_runs():
    names = {}
    exec(re.search(r"```python\n(.*?)```", PAGE, re.DOTALL)[1], names)
    np.testing.assert_allclose(names["same"].throughput, names["got"].throughput[-1:])


def test_every_solver_has_its_row():
    table = "\n".join(line for line in PAGE.splitlines() if line.startswith("|"))
    functions = [name for name in queueing.__all__ if name.islower() and not name.startswith("multiclass_")]
    helpers = {"erlang_b", "closed_visits", "stack_rates"}
    assert [name for name in functions if f"`{name}" not in table and name not in helpers] == []
