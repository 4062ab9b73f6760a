"""A notebook's page as a test sees it: built from the notebook's source, with some of its questions made shorter."""

import re
from html import unescape

from npexplore.paths import share
from npexplore.report.build import build
from npexplore.report.notebooks import find_notebooks


def page_of(name, folder, fewer=None):
    """Return the path of a notebook's page, made in a folder; fewer: text of the source -> what stands there here."""
    source = share("notebooks", f"{name}.py").read_text()
    for usual, few in (fewer or {}).items():
        assert usual in source, usual
        source = source.replace(usual, few)
    (folder / f"{name}.py").write_text(source)
    build(find_notebooks(folder), folder).raise_for_errors()
    return folder / f"{name}.html"


QUESTIONS = ["How fast?", "What binds?", "How close to the paper?"]


def answers(html):
    """Return what the first screen answers, by question: what stands before the first section that folds."""
    first = html.split('<details class="chapter">')[0]
    assert first.count('class="plotly-graph-div"') == 1
    assert "<dt>free parameters</dt>" in first
    assert "Try next:" in first
    return {of: unescape(told) for of, told in re.findall(r"<dt>([^<]+\?)</dt><dd>([^<]+)</dd>", first)}
