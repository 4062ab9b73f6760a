"""Every module can be the first one imported, and an answer needs no package that only tables and plots need."""

import ast
import asyncio
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

import npexplore
from npexplore.report.execute import execute
from npexplore.report.notebooks import read_notebook

pytestmark = pytest.mark.slow
ROOT = Path(npexplore.__file__).parent

EACH_FIRST = """
import importlib, sys
for name in sys.argv[1:]:
    for known in [m for m in sys.modules if m.startswith("npexplore")]:
        del sys.modules[known]
    importlib.import_module(name)
"""

ANSWER = """
import sys
import npexplore
made, load = npexplore.design("ixp2400"), npexplore.workload(packet_bytes=64)
made.bounds(load), made.queueing(load), made.simulate(load, packets=64)
heavy = {"pandas", "pyarrow", "plotly", "scipy.stats", "jinja2", "dpkt", "nbconvert"} & set(sys.modules)
sys.exit(f"imported {heavy}" if heavy else 0)
"""

FIRST = """
import sys
import npexplore
npexplore.design("ixp2400").simulate(npexplore.workload(mix="amp"), packets=64)
known = {".".join(name.split(".")[:2]) for name in sys.modules}
slow = {"scipy.linalg", "scipy.special", "npexplore.golden", "npexplore.packets", "pandas", "tqdm.auto"} & known
import numba, numpy
twice = numba.njit(lambda a: numpy.dot(a, a))(numpy.array([3.0, 4.0]))  # a user's own kernel may ask for BLAS
sys.exit(f"imported {slow}" if slow else twice != 25.0)
"""

DESIGN = """
import sys
import npexplore
npexplore.design(sys.argv[1]).machine()
found = {name.split(".")[2] for name in sys.modules if name.startswith("npexplore.designs.")}
print(*found - {"base", "prepared", "varied"})
"""


def run(script, *args):
    done = subprocess.run([sys.executable, "-c", script, *args], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def imported(body):
    """Yield the statements that import while a module is being imported: none inside functions or for types alone."""
    for node in body:
        if isinstance(node, ast.Import):
            yield from (one.name for one in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (node.module, *(f"{node.module}.{one.name}" for one in node.names))
        elif not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            tests_types = isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
            for part in ("orelse",) if tests_types else ("body", "orelse", "handlers", "finalbody"):
                inside = getattr(node, part, [])
                yield from imported(inside if isinstance(inside, list) else [])


def parents(name):
    return [name.rsplit(".", k)[0] for k in range(1, name.count(".") + 1)]


def names_of(root):
    for path in sorted(root.rglob("*.py")):
        name = ".".join((root.name, *path.relative_to(root).with_suffix("").parts))
        yield name.removesuffix(".__init__"), path


def rings(root):
    """Return modules that import each other, however far around, in groups."""
    paths = dict(names_of(root))
    names, graph = list(paths), {}
    for name, path in paths.items():
        asked = [one for text in imported(ast.parse(path.read_text("utf-8")).body) for one in (text, *parents(text))]
        graph[name] = {one for one in (*asked, *parents(name)) if one in paths and one != name}
    matrix = coo_array(
        (np.ones(sum(map(len, graph.values()))), np.array(
            [(names.index(a), names.index(b)) for a in graph for b in graph[a]]
        ).T),
        shape=(len(names), len(names)),
    )  # fmt: skip
    which = connected_components(matrix, connection="strong")[1]
    groups = [[names[k] for k in np.flatnonzero(which == one)] for one in np.unique(which)]
    return [group for group in groups if len(group) > 1]


def outside_a_package(root):
    """Return rings that are no package with what is below it: who comes first in these decides what is half there.

    Whoever imports a module imports its package before it, so that a ring inside a package is always begun there.
    """
    return [ring for ring in rings(root) if not all(one == ring[0] or ring[0] in parents(one) for one in ring)]


def test_every_module_can_come_first():
    found = rings(ROOT)
    assert len(found) > 10
    assert not outside_a_package(ROOT)
    run(EACH_FIRST, *sorted({ring[0] for ring in found}))


def test_modules_that_import_each_other_are_told(tmp_path):
    made = tmp_path / "made"
    (made / "inner").mkdir(parents=True)
    (made / "__init__.py").write_text("")
    (made / "inner/__init__.py").write_text("from made.inner import deep\n")
    (made / "inner/deep.py").write_text("import os\n")
    (made / "a.py").write_text("try:\n    from made import b\nexcept ImportError:\n    pass\n")
    (made / "b.py").write_text("def later():\n    from made import a\n")
    assert rings(made) == [["made.inner", "made.inner.deep"]]
    assert not outside_a_package(made)
    (made / "b.py").write_text("import made.a as a\n")
    assert outside_a_package(made) == [["made.a", "made.b"]]


@pytest.mark.parametrize("name", npexplore.design_names())
def test_a_design_loads_one_machine(name):
    told_in_toml = npexplore.design(name).parameters.file.pool
    assert run(DESIGN, name).split() == ([] if told_in_toml else [name.removesuffix("_dram")])


def test_an_answer_needs_no_table_or_plot_package():
    run(ANSWER)


def test_a_first_simulation_imports_no_more_than_it_needs():
    """Its time is that of imports: each of these takes longer than the simulation."""
    run(FIRST)


SPARED = """
import sys
from npexplore.imports import spare_iri_grammar
spare_iri_grammar()
import npexplore.plot.theme, plotly.io
plotly.io.show({"data": [], "layout": {}}, renderer="plotly_mimetype")  # needs nbformat
assert "jsonschema" in sys.modules
sys.exit(f"imported {slow}" if (slow := {"lark"} & set(sys.modules)) else None)
"""


def test_figures_of_our_own_processes_load_no_grammar_of_iris():
    done = subprocess.run([sys.executable, "-c", SPARED], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr


def test_commands_and_kernels_of_a_report_go_without_it_and_nobody_else(tmp_path):
    asked = "sys.modules.get('rfc3987_syntax', 0)"
    cell = f"import sys, npexplore.plot.theme\nprint('spared' if {asked} is None else 'there')"
    page = tmp_path / "one.py"
    page.write_text(f"# %% [markdown]\n# # One\n\n# %%\n{cell}\n")
    run = asyncio.run(execute(read_notebook(page), tmp_path / "store", lambda: None))
    assert run.error is None
    assert [output["text"] for output in run.cells.cells[-1].outputs] == ["spared\n"]
    assert subprocess.run([sys.executable, "-c", cell], capture_output=True, text=True).stdout == "there\n"
