"""Sliders in JupyterLab, in a browser: they appear, and moving one redraws the figure."""

import os
import shutil
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import jupytext
import pytest

CELL = """# %%
import pandas as pd
from npexplore.plot.explorer import Explorer
table = pd.DataFrame([(x, b, x * b) for x in (1, 2, 4) for b in (1, 2, 3)], columns=["x", "b", "y"])
Explorer(table, "x", "y", ["b"], title="Products", x_title="x", y_title="y")
"""
DRAWN = "[...document.querySelectorAll('.js-plotly-plot')].map(one => one.data && [...one.data[0].y])"
WAIT_MS = 120_000


@contextmanager
def lab(folder):
    """Run JupyterLab on a folder; gives its address."""
    log = folder / "lab.log"
    words = [sys.executable, "-m", "jupyter", "lab", "--no-browser", "--port=0", "--allow-root",
             f"--notebook-dir={folder}", "--IdentityProvider.token=", "--LabApp.news_url=None"]  # fmt: skip
    with log.open("w") as out:
        server = subprocess.Popen(words, stdout=out, stderr=out, env=os.environ | {"HOME": str(folder)})
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


@pytest.mark.slow
def test_a_slider_in_the_lab_redraws_the_figure(tmp_path):
    playwright = pytest.importorskip("playwright.sync_api")
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("needs the program chromium")
    notebook = jupytext.reads(CELL, fmt="py:percent")
    notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    jupytext.write(notebook, Path(tmp_path / "sliders.ipynb"))
    with lab(tmp_path) as address, playwright.sync_playwright() as drive:
        browser = drive.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page()
        page.set_default_timeout(WAIT_MS)
        page.goto(f"{address}/lab/tree/sliders.ipynb")
        page.get_by_text("| Idle").first.wait_for()  # the kernel has started
        page.get_by_role("menuitem", name="Run", exact=True).click()
        page.get_by_text("Run All Cells", exact=True).click()
        page.locator(".widget-readout").wait_for()
        page.wait_for_function(f"JSON.stringify({DRAWN}) == '[[1,2,4]]'")
        page.locator(".noUi-handle").focus()
        page.keyboard.press("ArrowRight")
        page.wait_for_function(f"JSON.stringify({DRAWN}) == '[[2,4,8]]'")
        assert page.locator(".widget-readout").inner_text() == "2"
        browser.close()
