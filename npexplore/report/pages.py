"""Converts an executed notebook to an offline HTML page: figures as divs, formulas as MathML, code folded."""

import re
from base64 import b64encode
from functools import cache
from typing import Any

import jinja2
import latex2mathml.converter
from nbconvert.exporters import HTMLExporter
from nbconvert.filters.markdown_mistune import IPythonRenderer, MarkdownWithMath
from nbconvert.preprocessors import Preprocessor
from pygments.formatters import HtmlFormatter

from npexplore.report.chapters import chapters, split_cells
from npexplore.report.execute import Run
from npexplore.report.key_numbers import MIME as HEADLINE
from npexplore.report.lean import lean
from npexplore.report.notebooks import as_ipynb
from npexplore.report.playground import MIME as PLAYGROUND
from npexplore.report.playground import playground_div
from npexplore.report.shell import PLOTLY_JS, SEARCH_JS, TEMPLATES, environment, figure_div, library

FIGURE = "application/vnd.plotly.v1+json"


class Figures(Preprocessor):
    """Replaces plotly's JSON outputs by divs that the page's plotly.js draws."""

    def preprocess_cell(self, cell: Any, resources: Any, index: int) -> tuple[Any, Any]:
        """Replace the outputs of one cell; divs are numbered, so that equal notebooks give equal pages."""
        for position, output in enumerate(cell.get("outputs", [])):
            data = output.get("data", {})
            if record := data.get(PLAYGROUND):
                output["data"] = {"text/html": playground_div(record)}
            elif figure := data.get(FIGURE):
                figure.pop("config", None)
                output["data"] = {"text/html": figure_div(figure, f"figure-{index}-{position}")}
        return cell, resources


class MathRenderer(IPythonRenderer):
    """Renders Markdown with formulas as MathML, which browsers draw without scripts."""

    def inline_math(self, body: str) -> str:
        """Return a formula within a line."""
        return str(latex2mathml.converter.convert(body))

    def block_math(self, body: str) -> str:
        """Return a formula on its own line."""
        return f"<p>{latex2mathml.converter.convert(body, display='block')}</p>"


class PageExporter(HTMLExporter):
    """nbconvert's HTML exporter with our template and our Markdown."""

    @jinja2.pass_context
    def markdown2html(self, context: jinja2.runtime.Context, source: str) -> str:
        """Render one markdown cell."""
        return prose(source)


def prose(source: str) -> str:
    """Return one Markdown cell as HTML."""
    renderer = MathRenderer(escape=False, anchor_link_text="", exclude_anchor_links=False)
    html = str(MarkdownWithMath(renderer=renderer).render(source))
    return html.replace("<pre>", '<pre tabindex="0">')  # long lines scroll, also by keyboard


@cache
def templates() -> jinja2.Environment:
    """Return the page templates; their globals are the parts that all pages share."""
    jinja = environment()
    jinja.filters["markdown_line"] = inline_markdown
    return jinja


def page(run: Run, *, single_file: bool = False) -> str:
    """Return the page of a run; with `single_file` it contains plotly.js (5 MB) and has no search."""
    exporter = PageExporter(  # type: ignore[no-untyped-call]
        template_name="notebook",
        extra_template_basedirs=[str(TEMPLATES)],
        preprocessors=[Figures],
        require_js_url="",
        mathjax_url="",
    )
    body, _ = exporter.from_notebook_node(split_cells(run.cells))
    body, said_once = lean(body)
    first, later = chapters(body)
    drawn = "data-figure" in body
    libraries = {} if not drawn else library(None) if single_file else {"plotly_file": PLOTLY_JS}
    search = None if single_file else SEARCH_JS
    template = templates().get_template("page.html.j2")
    link = f"{run.notebook.name}.ipynb"
    if single_file:
        link = f"data:application/x-ipynb+json;base64,{b64encode(as_ipynb(run.notebook).encode()).decode()}"
    return template.render(run=run, link=link, first=first, chapters=later, search_file=search, said_once=said_once,
                           plays="data-play" in body, code_style=code_style(body), **libraries)  # fmt: skip


def code_style(body: str) -> str:
    """Return the styles, light and dark, of the token classes in a page's code; the styles of all classes are 4 KB."""
    styles = list[str]()
    for style, place in (("default", ".highlight"), ("github-dark", ':root[data-theme="dark"] .highlight')):
        for rule in HtmlFormatter(style=style).get_style_defs(place).splitlines():
            kind = re.match(rf"{re.escape(place)} \.(\w+) ", rule)
            if (kind is None and style == "default") or (kind is not None and f'class="{kind[1]}"' in body):
                styles.append(rule)
    return "\n".join(styles)


def inline_markdown(text: str) -> str:
    """Return one paragraph of Markdown as HTML without its paragraph tags."""
    html = str(MarkdownWithMath(renderer=MathRenderer()).render(text)).strip()
    return html.removeprefix("<p>").removesuffix("</p>")


def headlines(run: Run) -> list[dict[str, str]]:
    """Return the key numbers a notebook showed with `headline`, in order."""
    return shown(run, HEADLINE)


def shown(run: Run, mime: str) -> list[Any]:
    """Return the outputs of one of our MIME types that a notebook showed, in order."""
    outputs = (output for cell in run.cells.cells for output in cell.get("outputs", []))
    return [output["data"][mime] for output in outputs if mime in output.get("data", {})]
