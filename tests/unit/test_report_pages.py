"""An executed notebook becomes a page that needs no network and shows every output in its best form."""

import json
import re
from pathlib import Path

import nbformat.v4 as nb
import plotly.graph_objects as go
import pytest

from npexplore.errors import InputError, NpexploreError, UnknownNameError
from npexplore.plot.tables import BAD
from npexplore.plot.theme import CONFIG
from npexplore.report import headline
from npexplore.report.build import Report
from npexplore.report.execute import Run
from npexplore.report.index import index_page
from npexplore.report.notebooks import Notebook, find_notebooks
from npexplore.report.pages import code_style, page
from npexplore.report.shown_scores import MIME

FIGURE = "application/vnd.plotly.v1+json"


def shown(data):
    return nb.new_output("display_data", data=data)


def run_of(*cells, name="10_thing", error=None):
    cells = nb.new_notebook(cells=list(cells))
    return Run(Notebook(Path(f"{name}.py"), cells), cells, "2026-01-02 03:04:05", 1.5, error)


@pytest.fixture
def run():
    figure = json.loads(go.Figure(go.Scatter(y=[1, 3, 2]), layout={"height": 321}).to_json())
    number = headline("worst <error>", 3.14159, "%", tone="bad")._repr_mimebundle_()
    return run_of(
        nb.new_markdown_cell(
            "# Banks & buses\n\nWhat *binds*, by [Little](https://doi.org/1)?\n\n## First\n\n$$x_i^2$$\n\nand $y$"
        ),
        nb.new_code_cell("draw()", outputs=[shown({FIGURE: figure, "text/plain": "Figure"})]),
        nb.new_code_cell("draw()", outputs=[shown({FIGURE: figure}), shown(number)]),
        nb.new_code_cell(
            "t", outputs=[nb.new_output("execute_result", {"text/html": "<table></table>", "text/plain": "no"})]
        ),
        nb.new_code_cell("1 < 2", outputs=[nb.new_output("execute_result", {"text/plain": "1 < 2"})]),
    )


def test_every_figure_is_a_div_over_one_shared_script(run):
    html = page(run)
    assert html.count('class="plotly-graph-div"') == 2
    assert re.findall(r'<script[^>]*src="([^"]*)"', html) == ["plotly.min.js", "search.js"]
    assert len(set(re.findall(r'id="(figure-\d+-\d+)"', html))) == 2
    assert "height:321px" in html


def test_code_brings_the_styles_of_its_own_kinds_of_words():
    html = page(run_of(nb.new_code_cell("for k in range(3):\n    print(k)")))
    assert '<span class="k">for</span>' in html
    assert ".highlight .k {" in html
    assert ".highlight .gd {" not in html


def test_nothing_is_loaded_from_elsewhere(run):
    html = page(run)
    assert not re.search(r'(src|<link[^>]*href)="?http', html)
    assert '"showSendToCloud":false' in html
    assert '"displaylogo":false' in html


def test_a_single_file_carries_the_script_inside(run):
    html = page(run, single_file=True)
    assert "src=" not in re.sub(r"<script>.*?</script>", "", html, flags=re.DOTALL)
    assert len(html) > 3_000_000


def test_a_page_without_figures_has_no_script_to_load():
    assert "plotly" not in page(run_of(nb.new_markdown_cell("# Words only")))


def test_formulas_are_mathml_and_outputs_take_their_best_form(run):
    html = page(run)
    assert html.count("<math") == 2
    assert "$" not in re.sub(r"<script.*?</script>|<style.*?</style>", "", html, flags=re.DOTALL)
    assert "<table></table>" in html
    assert "1 &lt; 2" in html
    assert ">Figure<" not in html


def test_code_is_folded_and_sections_are_listed(run):
    html = page(run)
    assert html.count('<details class="source"') == 4
    assert html.count('<details class="chapter"') == 1
    assert "<details open" not in html
    assert '<a href="#First">First</a>' in html
    assert "2 figures, 1 table</span>" in html


def test_a_failed_run_says_so_on_its_page_and_its_card():
    run = run_of(nb.new_markdown_cell("# Bad luck"), error="10_thing.py, code cell 2 (f(<x>)): ValueError: no")
    for html in (page(run), index_page([run])):
        assert "f(&lt;x&gt;)): ValueError: no" in html
    with pytest.raises(NpexploreError, match=r"1 of 2 notebooks failed: 10_thing\.py, code cell 2"):
        Report(Path("index.html"), (run, run_of())).raise_for_errors()


def test_cards_show_title_summary_and_key_numbers(run):
    html = index_page([run])
    assert '<a href="10_thing.html">Banks &amp; buses</a>' in html
    assert 'What <em>binds</em>, by <a href="https://doi.org/1">Little</a>?' in html
    assert "<dt>worst &lt;error&gt;</dt><dd>3.14 %</dd>" in html
    assert 'class="bad"' in html


def test_the_first_page_has_the_scores_of_all_notebooks_below_their_answers(run):
    lines = [
        {
            "paper": paper, "group": "all", "claims": False, "rows": 3, "rms": 0.05, "rms_predicted": 0.05,
            "rms_post_hoc": None, "baseline": "constant", "baseline_error": 0.04, "skill": skill, "compared": 3,
            "nearer": 2, "unit": "", "low": None, "high": None, "free_parameters": 1, "off": [], "predicted": 3,
            "post_hoc": 0, "calibrated": 0, "arithmetic": 0, "blind": 0, "near": 3, "far": [], "scored": 3,
        }
        for paper, skill in (("mine", -0.25), ("yours", 0.25))
    ]  # fmt: skip
    runs = [run, *(run_of(nb.new_code_cell("scores(c)", outputs=[shown({MIME: [line]})])) for line in lines)]
    html = index_page(runs)
    assert html.index('<a href="10_thing.html">Banks') < html.index("mine") < html.index("yours")
    assert f'{BAD}">-0.25</b>' in html
    assert "mine" not in index_page([run])


@pytest.mark.parametrize(
    ("value", "unit", "text"), [(12345, "", "12,345"), (0.12345, "Mpps", "0.123 Mpps"), ("dram", "", "dram")]
)
def test_headlines_are_short(value, unit, text):
    assert headline("label", value, unit)._repr_mimebundle_()["text/plain"] == f"label: {text}"


def test_a_headline_refuses_an_unknown_tone():
    with pytest.raises(InputError, match="'happy'"):
        headline("label", 1, tone="happy")


def test_figures_are_never_offered_to_a_cloud():
    assert CONFIG["showSendToCloud"] is False


@pytest.fixture
def folder(tmp_path):
    for name in ("00_start", "10_ixp2400", "11_ixp2400_banks", "20_raw"):
        (tmp_path / f"{name}.py").write_text(f"# %% [markdown]\n# # About {name}\n#\n# Words.\n\n# %%\n1\n")
    (tmp_path / "helper.py").write_text("x = 1\n")
    return tmp_path


def test_notebooks_are_found_in_order_and_by_design(folder):
    assert [n.name for n in find_notebooks(folder)] == ["00_start", "10_ixp2400", "11_ixp2400_banks", "20_raw"]
    assert [n.name for n in find_notebooks(folder, ["ixp2400"])] == ["10_ixp2400", "11_ixp2400_banks"]
    first = find_notebooks(folder)[0]
    assert (first.title, first.summary, first.code_cells) == ("About 00_start", "Words.", 1)


def test_an_unknown_design_names_the_nearest(folder):
    with pytest.raises(UnknownNameError, match=r"'ixp2040' is unknown \(nearest: ixp2400"):
        find_notebooks(folder, ["ixp2040"])


def test_a_folder_without_notebooks_is_an_error(tmp_path):
    with pytest.raises(InputError, match="holds no notebook"):
        find_notebooks(tmp_path)


def test_code_has_colours_of_its_own_on_dark_pages():
    light, dark = code_style('<span class="s2">').splitlines()[-2:]
    assert light.startswith(".highlight .s2 ")
    assert dark.startswith(':root[data-theme="dark"] .highlight .s2 ')
    assert light.partition("{")[2] != dark.partition("{")[2]
