"""Every module can be the first one imported, and an answer needs no package that only tables and plots need."""

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

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
print(*found - {"base", "description", "knob_method", "listed", "prepared", "running", "shelf", "varied"})
"""


def run(script, *args):
    done = subprocess.run([sys.executable, "-c", script, *args], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_every_package_can_come_first():
    """And so can every module: its package comes before it, and no module imports itself (test_import_circles)."""
    names = [".".join(path.parent.relative_to(ROOT.parent).parts) for path in sorted(ROOT.rglob("__init__.py"))]
    assert "npexplore.machine.resources" in names
    run(EACH_FIRST, *names)


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
