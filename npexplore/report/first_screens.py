"""The first screen of a notebook's page: three answers, one figure, the score line, links to try next.

A notebook shows it in the first cell that computes; the question is the notebook's opening paragraph. JupyterLab shows
the same in the same order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from html import escape
from typing import TYPE_CHECKING, Any

from npexplore.errors import InputError
from npexplore.plot.cross_check_plot import cross_check
from npexplore.plot.scoreboard import NONE, error, held, known, papers, reader, skill
from npexplore.plot.tables import number

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from npexplore.study.checking.check import Check

MIME = "application/vnd.npexplore.first-screen+json"
SENTENCES = 3
LINES = 10  # printed numbers, with predictions, that the figure has room for
FIGURE = 420  # height in pixels, so that the first screen fits into 900
HOLDS, SCORED = ("inside", "close"), ("predicted", "post_hoc")
ROWS = "rows by label"
LABELS = {  # label of a row -> its meaning
    "predicted": "nothing was chosen after seeing it",
    "post hoc": "something was chosen after seeing it",
    "blind": "predicted before it was known here",
    "calibrated": "parameters (the free ones) were fitted to it",
    "arithmetic": "it tests no model",
}


@dataclass(frozen=True)
class Words:
    """The answers (question -> sentence), the score line, and the links (text -> target) of a first screen."""

    answers: dict[str, str]
    score: dict[str, str]
    tries: dict[str, str]

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        answers_html = "".join(
            f"<dt>{escape(question)}</dt><dd>{escape(answer)}</dd>" for question, answer in self.answers.items()
        )
        html = f'<dl class="answer">{answers_html}</dl>'
        plain = "\n".join(f"{question} {answer}" for question, answer in self.answers.items())
        record = {
            name: list(map(list, value.items())) for name, value in asdict(self).items()
        }  # lists keep their order in a store that sorts keys
        return {MIME: record, "text/html": html, "text/plain": plain}


@dataclass(frozen=True)
class Foot:
    """Score line and links of a first screen, below its figure."""

    words: Words

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        facts = "".join(f"<div><dt>{escape(of)}</dt><dd>{what}</dd></div>" for of, what in self.words.score.items())
        links = " · ".join(
            f'<a href="{escape(to, quote=True)}">{escape(what)}</a>' for what, to in self.words.tries.items()
        )
        score = f'<dl class="score">{facts}</dl>{words_for(self.words.score.get(ROWS, ""))}' if facts else ""
        plain = "; ".join(f"{of}: {what}" for of, what in self.words.score.items())
        return {"text/html": f'{score}<p class="next"><b>Try next:</b> {links}</p>', "text/plain": plain}


@dataclass(frozen=True)
class FirstScreen:
    """The first screen, as the value of a notebook's cell."""

    words: Words
    figure: go.Figure

    def _ipython_display_(self) -> None:
        from IPython.display import display

        for part in (self.words, self.figure, Foot(self.words)):
            display(part)  # type: ignore[no-untyped-call]


def first_screen(
    answers: Mapping[str, str], figure: go.Figure, *, tries: Mapping[str, str], check: Check | None = None,
    scored: Mapping[str, str] | None = None,
) -> FirstScreen:  # fmt: skip
    """Return the first screen, to be the last expression of a cell.

    answers: question -> answer, three sentences with numbers. figure: the figure for the first question. tries: text
    of a link -> its target (`#Section` with dashes for blanks, or `NN_page.html`). check: the cross-check that is
    scored; scored: name -> words of the score line, if there is no cross-check. Raises InputError unless there are
    three answers, each with a number.
    """
    if len(answers) != SENTENCES:
        raise InputError(f"a first screen has {SENTENCES} answers, got {len(answers)}")
    for question, answer in answers.items():
        if not any(sign.isdigit() for sign in answer):
            raise InputError(f"answer to {question!r} must state a number, got {answer!r}")
    figure.update_layout(height=FIGURE)
    score = score_line(check.scores()) if check is not None else dict(scored or {})
    return FirstScreen(Words(dict(answers), score, dict(tries)), figure)


def paper_screen(
    check: Check, answers: Mapping[str, str], rows: Mapping[str, str] | str, *,
    tries: Mapping[str, str], who: str = "the paper printed", source: str = "paper", play: str = "",
) -> FirstScreen:  # fmt: skip
    """Return the first screen of a page on a published study; this function makes the third answer and the figure.

    check: the cross-check of the study. answers: the first two; the third is the agreement of the predictions. rows:
    the printed numbers in the figure, key -> name, in order; or a prefix of keys: then an even selection of the rows
    not used for a fit is shown, named by their keys without the prefix. tries: as in `first_screen`. who: source in the
    figure's title ("What the paper printed, ..."). source: its name in the third question. play: the machine's id on
    the page with sliders.
    """
    names = rows if isinstance(rows, Mapping) else {key: key.removeprefix(rows) for key in _spread(check)}
    return first_screen(
        {**answers, f"How close to the {source}?": agreement_sentence(check)},
        cross_check(check.to_frame(), names, title=f"What {who}, and what comes out here"),
        check=check,
        tries={**tries, **({"turn the knobs": f"64_play.html#{play}"} if play else {})},
    )


def _spread(check: Check) -> list[str]:
    """Return the keys of at most LINES scored rows of role `check` that have an error, evenly spread."""
    keys = [
        row["key"] for row in check.rows if row["role"] == "check" and row["error"] is not None
        and row["label"] in SCORED
    ]  # fmt: skip
    return keys[:: max(1, len(keys) // (LINES - 1))][:LINES]


def score_line(lines: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Return labels, errors, skill and free parameters of a paper's cross-check as HTML; {} without scores."""
    if not lines:
        return {}
    name = str(lines[0]["paper"])
    paper_lines = [line for line in lines if line["paper"] == name]
    numbers = next((line for line in paper_lines if line["group"] == "all" and not line["claims"]), {})
    claims = next((line for line in paper_lines if line["group"] == "all" and line["claims"]), {})
    row = papers(paper_lines)[0]
    labels = [f"{row[label][0]} {label}" for label in LABELS]
    parts = {
        ROWS: ", ".join(label for label in labels if not label.startswith("0 ")) or "none",
        "typical error (rms)": error(numbers.get("rms"))[0],
        "of a reader without a model": reader(numbers)[0],
        "skill (1 is perfect, 0 the reader's)": skill(numbers)[0],
        "claims that hold": held(claims)[0],
        "free parameters": row["free parameters"][0],
    }
    return {name: words for name, words in parts.items() if words != NONE}


def words_for(labels: str) -> str:
    """Return definitions of the terms of a score line and of the labels in it (HTML); empty without labels."""
    definitions = "; ".join(f"<b>{label}</b>: {definition}" for label, definition in LABELS.items() if label in labels)
    return definitions and (
        f'<p class="words">A row is a printed number, or a claim: a statement in words. {definitions}. The <b>reader '
        "without a model</b> reads between the paper's other numbers or takes one for all; <b>skill</b> is 1 &minus; "
        "error / the reader's error.</p>"
    )


def row_sentences(check: Check) -> Callable[[str], str]:
    """Return a function: key of a row -> its prediction with unit and its printed number, as text."""
    rows = {row["key"]: row for row in check.rows}

    def sentence(key: str) -> str:
        row = rows[key]
        value = row[row["best"]]
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise InputError(f"row {key!r} must have a predicted number to be shown, got {value!r}")
        unit = "" if row["unit"] in (None, "1") else f" {row['unit']}"
        value = int(value) if float(value).is_integer() else value
        return f"{number(value, 3)}{unit} (printed: {row['published']})"

    return sentence


def agreement_sentence(check: Check) -> str:
    """Return a sentence on the agreement of predictions with published values that no parameter was fitted to."""
    rows = [
        row for row in check.rows if row["role"] == "check" and not row["same_as"] and row["label"] in SCORED
    ]  # fmt: skip
    met = sum(row["verdict"] in HOLDS for row in rows)
    numbers = next((line for line in check.scores() if line["group"] == "all" and not line["claims"]), {})
    sentence = (
        f"The model reproduces {met} of the {len(rows)} published values and claims that were not used for fitting, "
        "within 5 % or the rounding of the printed value"
    )
    if known(numbers.get("rms")):
        sentence += f". Root-mean-square error of the values: {numbers['rms']:.0f} %"
    if known(numbers.get("baseline_error")):
        sentence += (
            f". Baseline (the paper's other values alone, no model): "
            f"{numbers['baseline_error']:.0f} % error; model, same values: {numbers['error']:.0f} %"
        )
    return sentence + "."
