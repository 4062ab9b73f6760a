"""JupyterLab in a browser: notebooks open by double click, as in `make lab`, and run; sliders redraw their figure."""

import json
import os
import shutil
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

from npexplore.paths import share

CELL = """# %%
import pandas as pd
from npexplore.plot.explorer import Explorer
table = pd.DataFrame([(x, b, x * b) for x in (1, 2, 4) for b in (1, 2, 3)], columns=["x", "b", "y"])
Explorer(table, "x", "y", ["b"], title="Products", x_title="x", y_title="y")
"""
WAIT_MS = 240_000
SETTINGS = Path(__file__).parents[2] / ".jupyter"
FEWER = {  # the same notebooks at fewer points
    "00_start": {"(1, 2, 3, 4, 6, 8, 12, 16, 24, 32)": "(1, 8)"},
    "60_design_space": {"list(range(1, 33))": "[1, 16]", '"threads": [1, 2, 4, 8, 16, 32]': '"threads": [1, 16]'},
}
LIVE = """(() => {
  const told = document.querySelector('.widget-readout'), area = told && told.closest('.jp-OutputArea');
  const plot = area && area.querySelector('.js-plotly-plot');
  return plot && plot.data && plot.data[0] ? JSON.stringify(plot.data.map(one => Array.from(one.y))) : null;
})()"""  # what the figure beside the first slider draws
SLIDERS, PRODUCTS = ("60_design_space",), ("00_start",)  # that have sliders; to which CELL is added
OUTPUTS = "document.querySelectorAll('.jp-OutputArea-output').length"


@contextmanager
def lab(folder):
    """Run JupyterLab on a folder; gives its address."""
    log = folder / "lab.log"
    words = [sys.executable, "-m", "jupyter", "lab", "--no-browser", "--port=0", "--allow-root",
             f"--notebook-dir={folder}", "--IdentityProvider.token=", "--LabApp.news_url=None"]  # fmt: skip
    with log.open("w") as out:
        server = subprocess.Popen(words, stdout=out, stderr=out, env=os.environ | {
            "HOME": str(folder), "JUPYTER_CONFIG_PATH": str(SETTINGS)})  # fmt: skip
    try:
        deadline = time.monotonic() + WAIT_MS / 1000
        while "http://127.0.0.1:" not in log.read_text():
            assert server.poll() is None, log.read_text()
            assert time.monotonic() < deadline, log.read_text()
            time.sleep(0.2)
        yield "http://127.0.0.1:" + log.read_text().split("http://127.0.0.1:")[1].split("/")[0]
    finally:
        server.terminate()
        server.wait()


def moves(page):
    """Move the page's first slider by a step, to fewer banks: its number and a figure are others then."""
    slider, told = page.locator(".noUi-handle").first, page.locator(".widget-readout").first
    slider.scroll_into_view_if_needed()
    page.wait_for_function(f"{LIVE} !== null")
    number, before = told.inner_text(), page.evaluate(LIVE)
    slider.focus()
    page.keyboard.press("ArrowLeft")
    page.wait_for_function(f"{LIVE} !== {json.dumps(before)}")
    assert told.inner_text() != number


def multiplies(page):
    """Move the slider of CELL by a step: its figure draws exactly what its table says."""
    page.locator(".noUi-handle").scroll_into_view_if_needed()
    page.wait_for_function(f"{LIVE} == '[[1,2,4]]'")
    page.locator(".noUi-handle").focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_function(f"{LIVE} == '[[2,4,8]]'")
    assert page.locator(".widget-readout").inner_text() == "2"


@pytest.fixture(scope="module")
def desk(tmp_path_factory):
    """JupyterLab on a folder of notebooks, and a browser with its page."""
    playwright = pytest.importorskip("playwright.sync_api")
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("needs the program chromium")
    folder = tmp_path_factory.mktemp("lab")
    for name, fewer in FEWER.items():
        text = (share("notebooks") / f"{name}.py").read_text()
        for all_of_it, some in fewer.items():
            assert all_of_it in text
            text = text.replace(all_of_it, some)
        text += f"\n{CELL}" * (name in PRODUCTS) + '\n# %%\nprint("to the", "end")\n'
        (folder / f"{name}.py").write_text(text)
    with lab(folder) as address, playwright.sync_playwright() as drive:
        browser = drive.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        yield browser.new_context(viewport={"width": 1400, "height": 900}), address
        browser.close()


@pytest.fixture
def page(desk):
    """A page of the lab on which nothing is open; kernels end with it."""
    context, address = desk
    page = context.new_page()
    page.set_default_timeout(WAIT_MS)
    page.goto(f"{address}/lab?reset")
    yield page
    page.close()
    for session in context.request.get(f"{address}/api/sessions").json():
        context.request.delete(f"{address}/api/sessions/{session['id']}")


def run_all(page, name):
    """Open a notebook by double click, and run all of its cells."""
    page.locator(".jp-DirListing-item", has_text=name).dblclick()
    page.locator(".jp-Notebook").wait_for()
    page.get_by_text("| Idle").first.wait_for()  # the kernel has started
    page.get_by_role("menuitem", name="Run", exact=True).click()
    page.get_by_text("Run All Cells", exact=True).click()


@pytest.mark.slow
@pytest.mark.parametrize("name", FEWER)
def test_a_notebook_opens_by_double_click_and_runs_to_its_end(name, page):
    run_all(page, f"{name}.py")
    page.get_by_text("to the end", exact=True).wait_for()
    assert page.locator("[data-mime-type='application/vnd.jupyter.stderr']").count() == 0
    assert page.evaluate(OUTPUTS) > 5
    if name in SLIDERS:
        moves(page)
    if name in PRODUCTS:
        multiplies(page)
