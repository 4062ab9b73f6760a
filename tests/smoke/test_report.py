"""The report pipeline from a notebook's source to what a reader sees."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from reference.browser import screenshot, share_of_colour

from npexplore.plot.theme import BLUE
from npexplore.report.build import build
from npexplore.report.notebooks import find_notebooks

pytestmark = pytest.mark.slow

GOOD = """# %% [markdown]
# # A line

# %%
import os
import plotly.express as px
from npexplore.plot import theme
theme.use()
print("kernel", os.getpid())

# %%
px.line(y=[1, 5, 2, 4], title="Up and down")

# %%
px.bar(y=[3, 1, 2])
"""
BAD = """# %% [markdown]
# # Trouble

# %%
print("so far", 6 * 7)

# %%
load = {"mix": "amp"}
load["mixx"]

# %%
print(6 * 7)
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("notebooks")
    (folder / "00_good.py").write_text(GOOD)
    (folder / "01_bad.py").write_text(BAD)
    (folder / "02_last.py").write_text(GOOD)
    out = folder / "out"
    return folder, out, build(find_notebooks(folder), out)


def kernel(out, name="00_good"):
    return re.search(r"kernel \d+", (out / f"{name}.html").read_text())[0]


def test_a_failing_cell_is_told_in_one_line_and_stops_nothing_else(made):
    _, out, report = made
    assert [run.error for run in report.runs] == [
        None,
        '01_bad.py, code cell 2 (load = {"mix": "amp"}): KeyError: \'mixx\'',
        None,
    ]
    assert "<pre>so far 42" in (out / "01_bad.html").read_text()
    assert "<pre>42" not in (out / "01_bad.html").read_text()
    assert "plotly-graph-div" in (out / "02_last.html").read_text()


def test_only_what_changed_runs_again(made):
    folder, out, _ = made
    before, last = kernel(out), kernel(out, "02_last")
    build(find_notebooks(folder, ["good"]), out)
    assert kernel(out) == before
    (folder / "00_good.py").write_text(GOOD + "\n# %%\n1\n")
    build([notebook for notebook in find_notebooks(folder) if notebook.name != "01_bad"], out)
    assert kernel(out) != before
    assert kernel(out, "02_last") == last


@pytest.mark.parametrize("single_file", [False, True])
def test_a_reader_sees_the_figure(made, tmp_path, single_file):
    folder, out, _ = made
    if single_file:
        out = tmp_path
        build(find_notebooks(folder, ["last"]), out, single_file=True)
        assert not (out / "plotly.min.js").exists()
    page = out / "02_last.html"
    html = page.read_text()
    assert html.count('class="plotly-graph-div"') == 2
    # The figure is moved to the window's corner, so that its box is known.
    corner = "position: fixed !important; inset: 0 auto auto 0; z-index: 9999; width: 700px !important"
    copy = page.with_name("corner.html")
    copy.write_text(html.replace("</head>", f"<style>#figure-2-0 {{ {corner} }}</style></head>"))
    box = screenshot(copy, tmp_path)[:440, :700]
    assert 0.003 < share_of_colour(box, BLUE) < 0.1
    assert share_of_colour(box, "#ffffff") > 0.5


SLOW = """# %% [markdown]
# # Long work

# %%
import os, pathlib, time
pathlib.Path("{place}").write_text(str(os.getpid()))
time.sleep(600)
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["ctrl-c", "terminated"])
def test_a_report_that_is_stopped_keeps_what_is_finished_and_leaves_no_kernel_behind(tmp_path, number):
    places = [tmp_path / f"kernel{k}" for k in range(2)]
    (tmp_path / "00_good.py").write_text(GOOD)
    for k, place in enumerate(places):
        (tmp_path / f"1{k}_long.py").write_text(SLOW.format(place=place))
    code = f"""
from pathlib import Path
from npexplore.report.build import build
from npexplore.report.notebooks import find_notebooks
build(find_notebooks(Path({str(tmp_path)!r})), Path({str(tmp_path / "out")!r}))
"""
    running = subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE, text=True)
    wait_for(
        lambda: (
            sum(place.exists() for place in places) == min(2, os.cpu_count())
            and (tmp_path / "out/00_good.html").exists()
        )
    )
    running.send_signal(number)
    _, said = running.communicate(timeout=60)
    assert running.returncode != 0
    assert said.rstrip().endswith("KeyboardInterrupt")
    kernels = [int(place.read_text()) for place in places if place.exists()]
    wait_for(lambda: not any(Path(f"/proc/{pid}").exists() for pid in kernels), seconds=20)
    again = build(find_notebooks(tmp_path)[:1], tmp_path / "out")
    assert kernel(tmp_path / "out") == re.search(r"kernel \d+", str(again.runs[0].cells))[0]


def wait_for(ready, seconds=120):
    deadline = time.monotonic() + seconds
    while not ready():
        assert time.monotonic() < deadline
        time.sleep(0.1)
