"""A report without a change is not made again; whatever a page is made from, or was made into, brings it back."""

import pytest

from npexplore.report import kept as module
from npexplore.report.kept import RECORD, STORE, Kept, downloads, page_of, shared_files, unchanged


@pytest.fixture
def made(tmp_path):
    """Two notebooks and a folder in which every file of their report was written."""
    out, notebooks = tmp_path / "out", [tmp_path / "10_one.py", tmp_path / "20_two.py"]
    out.mkdir()
    for path in notebooks:
        path.write_text(f"# %%\n{path.stem!r}\n")
    kept = Kept(out)
    for path in notebooks:
        (out / page_of(path)).write_text(f"page of {path.stem}")
        kept.note(page_of(path), kept.source(path), 2.5)
        for name in downloads(path, False):
            (out / name).write_text("{}")
            kept.note(name, kept.source(path))
    for name in shared_files(False):
        (out / name).write_text(name)
        kept.note(name, kept.sources(notebooks))
    return notebooks, out


def test_without_a_change_the_index_is_there_already(made):
    notebooks, out = made
    assert unchanged(notebooks, out) == out / "index.html"
    assert Kept(out).seconds("10_one.html") == 2.5


def _edit_notebook(notebooks, out):
    notebooks[1].write_text("# %%\n2\n")


def _edit_page(notebooks, out):
    (out / "10_one.html").write_text("another page")


def _remove_download(notebooks, out):
    (out / "10_one.ipynb").unlink()


def _remove_library(notebooks, out):
    (out / "plotly.min.js").unlink()


def _break_record(notebooks, out):
    (out / STORE / RECORD).write_text("no database")


def _empty_record(notebooks, out):
    (out / STORE / RECORD).write_bytes(b"")


@pytest.mark.parametrize(
    "change", [_edit_notebook, _edit_page, _remove_library, _remove_download, _break_record, _empty_record]
)
def test_any_change_is_seen(made, change):
    change(*made)
    assert unchanged(*made) is None


def test_other_notebooks_and_another_form_are_another_report(made):
    notebooks, out = made
    assert unchanged(notebooks[:1], out) is None
    assert unchanged(notebooks, out, single_file=True) is None


def test_another_library_or_layout_is_another_page(made, monkeypatch):
    notebooks, out = made
    module._layout.cache_clear()
    monkeypatch.setattr(module, "version", lambda _: "0.0.1")
    try:
        assert unchanged(notebooks, out) is None
    finally:
        module._layout.cache_clear()
