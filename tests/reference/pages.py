"""A notebook's page as a test sees it: built from the notebook's source, with some of its questions made shorter."""

import re
from html import unescape

from reference.once import once

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


def shared_page(factory, name, fewer=None):
    """Return the path of a notebook's page as `page_of` makes it, made once for all workers of a run."""
    return once(factory, name, lambda folder: page_of(name, folder, fewer)) / f"{name}.html"


QUESTIONS = ["How fast?", "What binds?", "How close to the paper?"]


def answers(html):
    """Return what the first screen of a paper's page answers, by question, and assert what holds of any such page."""
    return {of: unescape(what) for of, what in scored(html).items() if of.endswith("?")}


def scored(html):
    """Return what the first screen tells: what stands before the first section that folds.

    Asserts that every label of the score line has its meaning below it, and that its totals are those of the tables.
    """
    first = html.split('<details class="chapter">')[0]
    assert first.count('class="plotly-graph-div"') == 1
    assert "Try next:" in first
    told = dict(re.findall(r"<dt>([^<]+)</dt><dd>(.*?)</dd>", first))
    for word in (*re.findall(r"\d+ ([a-z ]+)", told["rows by label"]), "reader without a model", "skill"):
        assert f"<b>{word}</b>" in first, word
    totals(html, told)
    return told


def totals(html, told):
    """Assert that what the first screen counts is what the tables of the page and of the index count."""
    whole, claims = ([row for row in rows(html, "rows") if row["rows"] == name] for name in ("all", "all, claims"))
    judged = sum(int(row["scored"]) for row in (*whole, *claims))
    by_label = sum(int(number) for number, label in re.findall(r"(\d+) ([a-z ]+)", told["rows by label"])
                   if label in ("predicted", "post hoc"))  # fmt: skip
    assert by_label == judged
    (close,) = (what for of, what in told.items() if of.startswith("How close to the "))
    assert int(re.match(r"The model reproduces \d+ of the (\d+) published", close)[1]) == judged
    assert int(told["free parameters"]) == max(int(row["free"]) for row in rows(html, "rows"))
    held = [row["claims that hold"] for row in claims]
    assert held == [told[name] for name in ("claims that hold",) if name in told]
    for row in rows(html, "rows"):
        assert int(row["post hoc"]) <= int(row["scored"]), row
        assert all(int(of) <= int(row["scored"]) for of in re.findall(r"of (\d+) claims", row.get(OPEN, "")))
    if found := re.search(r"(\d+) of (\d+)</b><br/?>(?:<span>)?identities between printed numbers", html):
        verdicts = [row["verdict"] for row in rows(html, "id")]
        assert [int(one) for one in found.groups()] == [verdicts.count("inconsistent"), len(verdicts)]


OPEN = "over what is left open"


def rows(html, first):
    """Return the rows of the tables whose first column has this name, by column, as plain text."""
    found = []
    for table in re.findall(r"<table.*?</table>", html, re.DOTALL):
        heads, *lines = ([plain(cell) for cell in re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", line, re.DOTALL)]
                         for line in re.findall(r"<tr.*?</tr>", table, re.DOTALL))  # fmt: skip
        if heads and heads[0] == first:
            found += [dict(zip(heads, line, strict=True)) for line in lines if len(line) == len(heads)]
    return found


def plain(html):
    """Return the words of some HTML."""
    return " ".join(unescape(re.sub(r"<[^>]*>", "", html)).split())
