"""The report pipeline from a notebook's source to what a reader sees."""

import re
import shutil
import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import pytest
from reference.browser import screenshot, share_of_colour

from npexplore.paths import share
from npexplore.plot.theme import BLUE
from npexplore.report.build import begin_order, build, longest_first
from npexplore.report.kept import Kept, Page, unchanged
from npexplore.report.notebooks import find_notebooks
from npexplore.study.sweeping.executors import usable_cores

pytestmark = pytest.mark.slow

GOOD = """# %% [markdown]
# # A line

# %%
import os
import plotly.express as px
from npexplore import plot
plot.use_theme()
import gc
print("kernel", os.getpid(), "collects after", gc.get_threshold()[0])

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


def test_the_collector_of_cycles_seldom_looks_into_a_kernel(made):
    _, out, _ = made
    assert "collects after 20000" in (out / "00_good.html").read_text()


def test_only_what_changed_runs_again(made):
    folder, out, _ = made
    before, last = kernel(out), kernel(out, "02_last")
    build(find_notebooks(folder, ["good"]), out)
    assert kernel(out) == before
    (folder / "00_good.py").write_text(GOOD + "\n# %%\n1\n")
    build([notebook for notebook in find_notebooks(folder) if notebook.name != "01_bad"], out)
    assert kernel(out) != before
    assert kernel(out, "02_last") == last


def test_a_page_is_made_again_only_if_it_is_not_there_as_it_would_be_made(made, tmp_path):
    folder, _, _ = made
    out = tmp_path / "out"
    notebooks = [notebook for notebook in find_notebooks(folder) if notebook.name != "01_bad"]
    files = [notebook.path for notebook in notebooks]
    build(notebooks, out)
    assert unchanged(files, out) == out / "index.html"
    first, last = out / "00_good.html", out / "02_last.html"
    was, before = first.stat().st_mtime_ns, kernel(out)
    last.write_text("somebody's")
    assert unchanged(files, out) is None
    build(notebooks, out)
    assert last.read_text().startswith("<!DOCTYPE html>")
    assert first.stat().st_mtime_ns == was
    assert kernel(out) == before
    assert unchanged(files, out) == out / "index.html"


def test_the_index_stands_before_the_first_page_and_tells_of_each(made, tmp_path):
    folder, out = made[0], tmp_path / "out"
    seen = []

    def look(path, ready, count):
        index = (out / "index.html").read_text()
        links = re.findall(r'<h2><a href="(.*?)">', index)
        seen.append((path.name, ready, count, len(links), "http-equiv" in index))
        assert path.is_file()
        assert path.name in (*links, "index.html")

    report = build(find_notebooks(folder), out, on_page=look)
    assert seen[0] == ("index.html", 0, 3, 0, True)
    assert [one[1:] for one in seen[1:]] == [(1, 3, 1, True), (2, 3, 2, True), (3, 3, 3, False)]
    assert "3 of 3 pages stand. Failed: 01_bad." in (out / "index.html").read_text()
    assert "Stopped: 01_bad.py, code cell 2" in (out / "index.html").read_text()
    assert not list(out.glob(".*.part"))
    again = []
    build(find_notebooks(folder), out, on_page=lambda path, ready, count: again.append((path.name, ready)))
    assert again == [("index.html", 2), ("01_bad.html", 3)]
    assert report.index == out / "index.html"


def test_the_shortest_notebook_about_a_paper_is_begun_first(tmp_path):
    for name, paper, seconds in (("10_a", True, 9), ("20_b", True, 5), ("30_c", False, 1), ("40_d", False, 7)):
        (tmp_path / f"{name}.py").write_text(f"# %%\n{'paper_screen(check)' if paper else seconds}\n")
    (tmp_path / "seconds.toml").write_text('"10_a" = 9\n"20_b" = 5\n"30_c" = 1\n"40_d" = 7\n')
    begun = begin_order(find_notebooks(tmp_path), Kept(tmp_path / "out"))
    assert [one.name for one in begun] == ["20_b", "10_a", "40_d", "30_c"]


def test_those_that_took_longest_are_begun_first(made, tmp_path):
    folder, _, _ = made
    notebooks = find_notebooks(folder)
    kept = Kept(tmp_path)
    assert [one.name for one in longest_first(notebooks, kept)][-1] == "01_bad"  # the shortest text
    kept.files = {f"{name}.html": Page("", "", s) for name, s in (("01_bad", 90), ("00_good", 1), ("02_last", 2))}
    assert [one.name for one in longest_first(notebooks, kept)] == ["01_bad", "02_last", "00_good"]


def test_a_first_run_begins_with_those_that_took_longest_when_measured(made, tmp_path):
    named = [one.name for one in longest_first(find_notebooks(), Kept(tmp_path))]
    noted = tomllib.loads(share("notebooks", "seconds.toml").read_text())
    assert set(named) == set(noted)  # every notebook has its seconds
    assert named == sorted(noted, key=noted.__getitem__, reverse=True)
    folder = tmp_path / "own"
    shutil.copytree(made[0], folder)
    (folder / "seconds.toml").write_text("01_bad = 50\n02_last = 1\n")
    notebooks, kept = find_notebooks(folder), Kept(tmp_path)
    kept.files = {"02_last.html": Page("", "", 3.0), "00_good.html": Page("", "", 151.0)}
    assert [one.name for one in longest_first(notebooks, kept)] == ["00_good", "01_bad", "02_last"]  # 50 s are 150 here
    kept.files["00_good.html"] = Page("", "", 149.0)
    assert [one.name for one in longest_first(notebooks, kept)] == ["01_bad", "00_good", "02_last"]


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
    blue = lambda picture: share_of_colour(picture[:440, :700], BLUE)  # noqa: E731
    box = screenshot(copy, tmp_path, drawn=lambda picture: blue(picture) > 0.003)[:440, :700]
    assert 0.003 < share_of_colour(box, BLUE) < 0.1
    assert share_of_colour(box, "#ffffff") > 0.5


SLOW = """# %% [markdown]
# # Long work

# %%
import os, pathlib, time
pathlib.Path("{place}").write_text(str(os.getpid()))
time.sleep(3600)
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["ctrl-c", "terminated"])
def test_a_report_that_is_stopped_keeps_what_is_finished_and_leaves_no_kernel_behind(tmp_path, number):
    places = [tmp_path / f"kernel{k}" for k in range(2)]
    busy = ["10_long", "11_long"][: usable_cores()]
    (tmp_path / "00_good.py").write_text(GOOD + "#" * 2000)  # the longest text is begun first
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
            sum(place.exists() and bool(place.read_text()) for place in places) == len(busy)
            and (tmp_path / "out/00_good.html").exists()
        )
    )
    index = tmp_path / "out/index.html"
    wait_for(lambda: f"1 of 3 pages stand. Being made now: {', '.join(busy)}." in index.read_text())
    assert 'http-equiv="refresh"' in index.read_text()
    running.send_signal(number)
    _, said = running.communicate(timeout=600)
    assert running.returncode != 0
    assert said.rstrip().endswith("KeyboardInterrupt")
    left = index.read_text()
    assert "1 of 3 pages stand. Not made: 10_long, 11_long." in left
    assert 'http-equiv="refresh"' not in left
    assert ('href="00_good.html"' in left, 'href="10_long.html"' in left) == (True, False)
    assert "10_long.html" not in (tmp_path / "out/search.js").read_text()
    kernels = [int(place.read_text()) for place in places if place.exists()]
    wait_for(lambda: not any(Path(f"/proc/{pid}").exists() for pid in kernels), seconds=120)
    again = build(find_notebooks(tmp_path)[:1], tmp_path / "out")
    assert kernel(tmp_path / "out") == re.search(r"kernel \d+", str(again.runs[0].cells))[0]


def wait_for(ready, seconds=600):
    deadline = time.monotonic() + seconds
    while not ready():
        assert time.monotonic() < deadline
        time.sleep(0.1)
