"""`npexplore notebooks`: what it writes is a notebook that equals ours, cell by cell, and nobody's edits are lost."""

import base64
import json
import re
import shutil

import jupytext
import nbformat
import pytest

from npexplore.cli import main
from npexplore.paths import share
from npexplore.report.execute import Run
from npexplore.report.notebooks import as_ipynb, read_notebook
from npexplore.report.pages import page

ONE = ["notebooks", "--design", "start"]


@pytest.fixture
def written(tmp_path, capsys):
    assert main([*ONE, "--out", str(tmp_path / "new"), "--json"]) == 0
    (path,) = json.loads(capsys.readouterr().out)["files"]
    return tmp_path / "new" / "00_start.ipynb", path


def test_a_notebook_has_the_cells_of_ours_and_no_outputs(written):
    path, told = written
    assert str(path) == told
    ours, theirs = jupytext.read(share("notebooks", path.stem + ".py")), nbformat.read(path, as_version=4)
    nbformat.validate(theirs)
    assert [(cell.cell_type, cell.source) for cell in theirs.cells] == [(c.cell_type, c.source) for c in ours.cells]
    assert [cell.outputs for cell in theirs.cells if cell.cell_type == "code" and cell.outputs] == []
    assert theirs.metadata.kernelspec.name == "python3"


def test_a_changed_notebook_is_not_overwritten(written, tmp_path, capsys):
    path, before = written[0], written[0].read_text()
    assert main([*ONE, "--out", str(path.parent)]) == 0  # the same cells
    path.write_text(before + "\n")
    assert main([*ONE, "--out", str(path.parent)]) == 2
    assert f"{path} exists with other cells" in capsys.readouterr().err
    assert path.read_text() == before + "\n"
    assert main([*ONE, "--out", str(path.parent), "--force"]) == 0
    assert path.read_text() == before


def test_an_unknown_design_is_refused_by_name(tmp_path, capsys):
    assert main(["notebooks", "--design", "strat", "--out", str(tmp_path)]) == 2
    assert "nearest: start" in capsys.readouterr().err


@pytest.mark.parametrize("single_file", [False, True])
def test_a_page_links_its_notebook(single_file, tmp_path):
    shutil.copy(share("notebooks", "00_start.py"), tmp_path / "00_start.py")
    notebook = read_notebook(tmp_path / "00_start.py")
    html = page(Run(notebook, notebook.cells, "now", 1.0), single_file=single_file)
    href = re.search(r'<a class="button" href="([^"]+)" download="00_start.ipynb"', html)[1]
    if single_file:
        assert base64.b64decode(href.partition(",")[2]).decode() == as_ipynb(notebook)
    else:
        assert href == "00_start.ipynb"
