"""Pages as a reader uses them, in a browser: first screen, folds, themes, tables, search, sliders, phone, axe."""

import json
import re
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path

import nbformat.v4 as nb
import pandas as pd
import plotly.graph_objects as go
import pytest
from plotly.subplots import make_subplots
from reference.first_layer import first_layer, run_of, shown
from reference.page_reader import LONG_MS, WIDE, becomes, chromium, width, within

import npexplore as npx
from npexplore.designs import design
from npexplore.plot import tables
from npexplore.plot.line_plots import with_layout
from npexplore.report.explanation_page import explanation_page
from npexplore.report.index import index_page
from npexplore.report.load_page import load_page
from npexplore.report.pages import page
from npexplore.report.playground import Playground, landscape_record
from npexplore.report.search import search_js, search_lines
from npexplore.report.shell import library
from npexplore.study.loading.curve import load_curve
from npexplore.study.sweeping.landscape import landscape

pytestmark = pytest.mark.slow
PHONE = {"width": 360, "height": 740}
AXE = "axe.run(document).then(r => r.violations.map(v => [v.impact, v.id, v.nodes.map(n => n.html.slice(0, 120))]))"
KNOBS = {"cores": [1, 2, 4, 6], "ring": [512, 1024], "program": ["drop", "tx"]}


@pytest.fixture(scope="module")
def solved():
    return landscape(design("server"), npx.workload(packet_bytes=64), KNOBS, between=["cores"])


@pytest.fixture(scope="module")
def played(solved):
    start = {"cores": 2, "ring": 512, "program": "drop"}
    return Playground("Server", landscape_record(solved), start)


@pytest.fixture(scope="module")
def folder(tmp_path_factory, played):
    out = tmp_path_factory.mktemp("pages")
    run = first_layer(shown(played))
    library(out / "index.html")
    (out / "10_thing.html").write_text(page(run))
    (out / "search.js").write_text(search_js(search_lines(run.notebook)))
    (out / "index.html").write_text(index_page([run]))
    return out


@pytest.fixture(scope="module")
def browser():
    with chromium() as running:
        yield running


@pytest.fixture
def visit(browser, folder):
    """Open a page; what it says on the console, or asks of a network, fails the test."""
    opened, wrong = [], []

    def open_page(name="10_thing", viewport=WIDE, scheme="light", **kept):
        context = browser.new_context(viewport=viewport, color_scheme=scheme, **kept)
        one = context.new_page()
        one.set_default_timeout(LONG_MS)
        one.on("console", lambda said: wrong.append(said.text) if said.type == "error" else None)
        one.on("pageerror", lambda error: wrong.append(str(error)))
        one.on(
            "request",
            lambda asked: None if asked.url.startswith(("file:", "data:", "blob:")) else wrong.append(asked.url),
        )
        one.goto((folder / f"{name}.html").as_uri())
        opened.append(context)
        return one

    yield open_page
    for context in opened:
        context.close()
    assert not wrong


def drawn(one):
    """The colours within each figure that is drawn, by its place."""
    return one.evaluate(
        "[...document.querySelectorAll('[data-figure]')]"
        ".map(f => f.querySelectorAll('.main-svg .trace path, .main-svg .point path').length)"
    )


@pytest.mark.parametrize("viewport", [WIDE, PHONE], ids=["wide", "phone"])
def test_titles_keep_clear_of_the_tools_and_of_the_edge(visit, folder, viewport):
    long = "What was <b>measured</b> of this machine, and what comes out of it here"
    figure = go.Figure(go.Bar(y=[3, 1, 2]), layout={
        "template": "npexplore", "title": {"text": f"{long}. {long}"},
        "xaxis": {"title": {"text": "number of the bar, from the left to the right"}}, "margin": {"l": 210},
    })  # fmt: skip
    (folder / "20_titles.html").write_text(page(run_of(nb.new_markdown_cell("# Titles"), shown(figure))))
    one = visit("20_titles", viewport)
    one.wait_for_selector(".main-svg .xtitle")
    one.wait_for_function("document.querySelectorAll('.gtitle tspan').length > 1")
    edges = "[...document.querySelectorAll('.gtitle, .xtitle')].map(t => t.getBoundingClientRect().right)"
    bar = one.locator(".modebar")

    def clear():
        end = one.locator("[data-figure]").bounding_box()
        title, below = one.evaluate(edges)
        right = end["x"] + end["width"]
        return title <= (bar.bounding_box()["x"] if bar.count() else right) and below <= right

    assert becomes(one, clear)
    assert becomes(one, lambda: width(one) <= viewport["width"])


def test_panels_side_by_side_come_one_below_another_on_a_phone(visit, folder):
    figure = make_subplots(1, 3, subplot_titles=["A", "B", "C"], shared_yaxes=True)
    for column in (1, 2, 3):
        figure.add_trace(go.Bar(x=[3, 1], y=["a long name of a resource", "another"], orientation="h"), 1, column)
    figure.update_layout(template="npexplore", title="Three", height=300)
    (folder / "20_panels.html").write_text(page(run_of(nb.new_markdown_cell("# Panels"), shown(figure))))
    boxes = "[...document.querySelectorAll('.barlayer .trace')].map(b => b.getBoundingClientRect().toJSON())"
    one = visit("20_panels", PHONE)
    one.wait_for_selector(".main-svg .trace")
    assert becomes(one, lambda: len(one.evaluate(boxes)) == 3)
    panels = sorted(one.evaluate(boxes), key=lambda box: box["top"])
    assert all(one["bottom"] < two["top"] for one, two in pairwise(panels))
    assert {box["left"] for box in panels} == {panels[0]["left"]}
    names = one.evaluate("[...document.querySelectorAll('.annotation')].map(a => a.getBoundingClientRect().bottom)")
    assert all(box["top"] - 60 < name <= box["top"] + 2 for name, box in zip(names, panels, strict=True))
    one.set_viewport_size(WIDE)  # turned to its side, or a window made wider
    assert becomes(one, lambda: len({box["top"] for box in one.evaluate(boxes)}) == 1)
    assert becomes(one, lambda: one.locator("[data-figure]").bounding_box()["height"] == 300)


def test_the_first_screen_holds_answer_figure_score_and_what_to_try(visit):
    one = visit()
    one.wait_for_selector(".first .main-svg .trace")
    for what in (".answer dd:last-child", ".first [data-figure]", ".score", ".next"):
        assert becomes(one, lambda what=what: within(one.locator(what).first.bounding_box())), what


def test_chapters_fold_and_links_and_printing_open_them(visit):
    one = visit()
    chapters = one.locator("details.chapter")
    assert chapters.count() == 2
    assert one.locator("details.chapter[open]").count() == 0
    one.locator(".next a").click()
    one.wait_for_selector("details.chapter[open] #The-table")
    one.evaluate("location.hash = '#Another-figure'")
    one.wait_for_selector("details.chapter[open] #Another-figure")
    one.locator("#open").click()
    one.locator("#open").click()
    assert one.locator("details.chapter[open]").count() == 0
    one.pdf()
    assert one.locator("details.chapter[open]").count() == 2
    for link in one.evaluate(
        "[...document.querySelectorAll('a[href^=\"#\"]')].map(a => decodeURIComponent(a.hash.slice(1)))"
    ):
        assert one.evaluate("name => !!document.getElementById(name)", link), link


def test_every_figure_is_drawn_in_the_theme_and_can_be_taken_away(visit, tmp_path):
    one = visit()
    one.locator("#open").click()
    for k in range(2):
        one.locator("[data-figure]").nth(k).scroll_into_view_if_needed()
    one.wait_for_function("document.querySelectorAll('[data-figure] .main-svg .trace').length >= 2")
    assert becomes(one, lambda: all(count > 0 for count in drawn(one)))
    paper = "document.querySelector('[data-figure]').layout.template.layout.paper_bgcolor"
    light = one.evaluate("getComputedStyle(document.body).backgroundColor")
    assert one.evaluate(paper) == "white"
    one.locator(".theme:text-is('Dark')").click()
    one.locator("[data-figure]").first.scroll_into_view_if_needed()  # those out of sight wait until they are seen
    one.wait_for_function(f"{paper} == '#161b22'")
    assert one.evaluate("getComputedStyle(document.body).backgroundColor") != light
    one.reload()
    assert one.evaluate("document.documentElement.dataset.theme") == "dark"
    assert one.locator(".theme").inner_text() == "Light"
    for form, begins in (("PNG", b"\x89PNG"), ("SVG", b"<svg"), ("CSV", b"line,x,y")):
        with one.expect_download() as waiting:
            one.locator(f".tools button:text-is('{form}')").first.click()
        waiting.value.save_as(tmp_path / form)
        assert (tmp_path / form).read_bytes().startswith(begins)
    assert ",0,1,," in (tmp_path / "CSV").read_text()


def test_a_figure_out_of_sight_takes_the_theme_when_it_is_seen_or_printed(visit, folder):
    long = nb.new_markdown_cell("\n\n".join(f"Line {k}." for k in range(60)))
    bars = [shown(go.Figure(go.Bar(y=[3, 1, 2]), layout={"template": "npexplore", "title": name})) for name in "AB"]
    (folder / "20_far.html").write_text(page(run_of(nb.new_markdown_cell("# Far"), bars[0], long, bars[1])))
    one = visit("20_far")
    near, far = one.locator("[data-figure]").nth(0), one.locator("[data-figure]").nth(1)
    far.scroll_into_view_if_needed()
    far.locator(".main-svg .trace").first.wait_for(state="attached")
    one.evaluate("scrollTo(0, 0)")
    one.locator(".theme").click()
    assert becomes(one, lambda: near.get_attribute("data-theme") == "dark")
    assert far.get_attribute("data-theme") == "light"
    far.scroll_into_view_if_needed()
    assert becomes(one, lambda: far.get_attribute("data-theme") == "dark")
    one.evaluate("scrollTo(0, 0)")
    one.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert becomes(one, lambda: far.get_attribute("data-theme") == "light")


def test_a_page_of_sliders_opens_with_them(visit, folder, played):
    run = run_of(nb.new_markdown_cell("# Play"), nb.new_markdown_cell("## Machines"), shown(played),
                 nb.new_markdown_cell("## More"), shown(played))  # fmt: skip
    (folder / "30_play.html").write_text(page(run))
    one = visit("30_play")
    slider = one.locator("[data-play] input[type=range]").first.bounding_box()
    assert slider["y"] + slider["height"] <= WIDE["height"]
    assert one.locator("details.chapter[open]").count() == 1


def test_dark_is_another_picture_from_the_start(visit):
    assert visit(scheme="dark").evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(13, 17, 23)"


def test_dark_pages_print_on_white_paper(visit):
    one = visit(scheme="dark")
    one.wait_for_selector(".first .main-svg .trace")
    one.evaluate("dispatchEvent(new Event('beforeprint'))")
    ground = "getComputedStyle(document.querySelector('main')).backgroundColor"
    assert one.evaluate(ground) == "rgb(255, 255, 255)"
    assert becomes(one, lambda: one.evaluate("document.querySelector('[data-figure]').dataset.theme") == "light")
    one.evaluate("dispatchEvent(new Event('afterprint'))")
    assert one.evaluate("document.documentElement.dataset.theme") == "dark"


def test_tables_sort_and_filter_by_click_and_key(visit):
    one = visit()
    one.locator("#open").click()
    first = one.locator("tbody tr:not([hidden]) td:last-child")
    head = one.locator("th button:text-is('size')")
    head.click()
    assert first.nth(0).inner_text() == "0"
    head.focus()
    one.keyboard.press("Enter")
    assert first.nth(0).inner_text() == "29"
    assert one.locator("th[aria-sort=descending]").inner_text().startswith("size")
    one.locator(".rows input").first.fill("29 row")
    assert one.locator(".rows [role=status]").first.inner_text() == "2 of 30 rows"
    one.evaluate("document.querySelector('.table').style.maxHeight = '200px'")
    one.locator(".rows input").first.fill("")
    one.evaluate("document.querySelector('.table').scrollTop = 300")
    top = one.locator(".table").first.bounding_box()["y"]
    assert one.locator("thead th").first.bounding_box()["y"] == pytest.approx(top, abs=2)


@pytest.mark.parametrize(("rows", "whole", "button"), [(22, True, False), (80, False, True), (9, False, False)])
def test_no_row_is_cut_where_a_table_is_little_longer_than_its_box(visit, folder, rows, whole, button):
    table = tables.table(pd.DataFrame({"row": range(rows), "twice": range(0, 2 * rows, 2)}), height=720)
    (folder / "20_rows.html").write_text(
        page(run_of(nb.new_markdown_cell("# Rows"), nb.new_markdown_cell("## Folded"), shown(table)))
    )
    one = visit("20_rows")
    one.locator("#open").click()
    every = one.locator(".rows button")
    assert becomes(one, lambda: every.is_visible() == button, tries=10)
    assert one.evaluate("document.querySelector('.table').classList.contains('whole')") == whole
    cut = "(box => box.scrollHeight - box.clientHeight)(document.querySelector('.table'))"
    assert (one.evaluate(cut) > 1) == button
    if button:
        every.click()
        assert one.evaluate(cut) <= 1


@pytest.mark.parametrize("name", ["10_thing", "index"])
def test_search_finds_sections_and_never_makes_markup(visit, name):
    one = visit(name)
    one.locator("#search").fill("onerror")
    assert one.locator("#found li").count() == 1
    assert one.locator("#found img").count() == 0
    assert "<img src=x" in one.locator("#found li small").inner_text()
    one.locator("#search").press("Enter")
    one.wait_for_url(re.compile("10_thing.html#The-table"))
    one.wait_for_selector("details.chapter[open] #The-table")


def test_sliders_say_what_the_solvers_say(visit, solved):
    one = visit()
    one.locator("#open").click()
    box = one.locator("#server")
    slider, places = box.locator("input[name=cores]"), [1, 2, 3, 4, 5, 6]
    assert slider.get_attribute("max") == str(len(places) - 1)
    for cores in places:
        slider.fill(str(places.index(cores)))
        box.locator("select").select_option("tx")
        limits, queueing, _ = solved.at({"cores": cores, "ring": 512, "program": "tx"})
        told = {name: box.get_attribute(f"data-{name}") for name in ("bound", "queueing", "bottleneck")}
        assert float(told["bound"]) == pytest.approx(min(limits.values()), rel=5e-5)
        assert float(told["queueing"]) == pytest.approx(queueing, rel=5e-5)
        assert told["bottleneck"] == min(limits, key=limits.get)
    assert "512, 1024; program drop, tx: 16 machines" in box.inner_text()
    slider.focus()
    one.keyboard.press("Home")
    assert box.get_attribute("data-bound") != told["bound"]
    assert box.locator("svg polyline").count() >= 3


def test_legends_and_panels_have_room_on_a_phone(visit, folder):
    named = go.Figure([go.Scatter(y=[1, 3, 2], name=f"a curve of a long name, {k}") for k in range(3)])
    named.update_layout(template="npexplore", yaxis_title="a height that is told in very many words " * 2)
    wide = make_subplots(1, 6, shared_yaxes=True)
    for column in range(1, 7):
        wide.add_trace(go.Bar(x=[3, 1], y=["one", "two"], orientation="h"), 1, column)
    wide.update_layout(template="npexplore", showlegend=False)
    net = go.Figure(go.Scatter(y=[1, 2]), layout={"template": "npexplore", "meta": {"least_width": 700}})
    cells = [shown(one) for one in (named, wide, net)]
    (folder / "20_rooms.html").write_text(page(run_of(nb.new_markdown_cell("# Rooms"), *cells)))
    one = visit("20_rooms", PHONE)
    for k in range(3):
        one.locator("[data-figure]").nth(k).scroll_into_view_if_needed()
        one.locator("[data-figure]").nth(k).locator(".main-svg .trace").first.wait_for(state="attached")
    found = """[...document.querySelectorAll("[data-figure]")].map(box => {
        let all = box._fullLayout, title = box.querySelector(".ytitle");
        return [all.xaxis._length, box.getBoundingClientRect().width,
                title ? title.getBoundingClientRect().height - all.yaxis._length : 0];
    })"""
    assert becomes(one, lambda: min(least for least, _, _ in one.evaluate(found)) >= 120)
    assert becomes(one, lambda: [end > PHONE["width"] for _, end, _ in one.evaluate(found)] == [False, True, True])
    assert becomes(one, lambda: one.evaluate(found)[0][2] <= 0)  # its title is no higher than the plot
    assert becomes(one, lambda: width(one) <= PHONE["width"])


@pytest.mark.parametrize("viewport", [WIDE, PHONE], ids=["wide", "phone"])
def test_no_label_lies_on_another_or_is_left_out_and_legends_stay_whole(visit, folder, viewport):
    named = go.Figure([go.Scatter(y=[1, 3, 2], name=f"the curve of a very long name, number {k}") for k in range(12)])
    crowded = go.Figure(go.Bar(x=list(range(9000, 9040)), y=[1] * 40))
    rows = [f"a.published.row.number.{k}" for k in range(40)]
    dots = go.Figure(go.Scatter(x=list(range(40)), y=rows, mode="markers"))
    cells = [shown(with_layout(one, "A title", high)) for one, high in ((named, 440), (crowded, 440), (dots, 700))]
    crowded.update_xaxes(nticks=60, tickangle=0, tickformat=",.2f")
    cells[1] = shown(crowded)
    (folder / "20_labels.html").write_text(page(run_of(nb.new_markdown_cell("# Labels"), *cells)))
    one = visit("20_labels", viewport)
    for k in range(3):
        one.locator("[data-figure]").nth(k).scroll_into_view_if_needed()
        one.locator("[data-figure]").nth(k).locator(".main-svg .trace").first.wait_for(state="attached")
    box = "document.querySelectorAll('[data-figure]')"
    legend = f"""(() => {{ let whole = {box}[0].getBoundingClientRect();
        return [...{box}[0].querySelectorAll('.legendtext')].filter(t => {{ let r = t.getBoundingClientRect();
            return r.right > whole.right + 1 || r.bottom > whole.bottom + 1; }}).length; }})()"""
    assert becomes(one, lambda: one.evaluate(legend) == 0)
    ends = f"[...{box}[1].querySelectorAll('.xtick text')].map(t => t.getBoundingClientRect().toJSON())"

    def apart():
        found = sorted(one.evaluate(ends), key=lambda end: end["left"])
        return len(found) >= 2 and all(a["right"] <= b["left"] for a, b in pairwise(found))

    assert becomes(one, apart)
    assert becomes(one, lambda: one.evaluate(f"{box}[2].querySelectorAll('.ytick text').length") == 40)


def test_pages_of_commands_never_scroll_sideways_with_their_folds_open(visit, folder):
    explained = design("server").explain(npx.workload(packet_bytes=64), elasticities=False, changes=False)
    (folder / "explained.html").write_text(explanation_page(explained, beside=folder / "explained.html"))
    curve = load_curve(design("server"), npx.workload(packet_bytes=64), rates=[1e6, 2e6], packets=200)
    rows = [{f"a long name of a column {k}": 1.5 for k in range(9)}] * 2
    (folder / "loaded.html").write_text(load_page(curve, "What it says.", rows, folder / "loaded.html"))
    for name in ("explained", "loaded"):
        one = visit(name, PHONE)
        one.evaluate("document.querySelectorAll('details').forEach(part => { part.open = true; })")
        assert becomes(one, lambda one=one: width(one) <= PHONE["width"])
        assert one.locator(".table th .sort").count() > 0


@pytest.mark.parametrize("name", ["10_thing", "index"])
def test_a_phone_never_scrolls_sideways(visit, name):
    one = visit(name, PHONE)
    if name != "index":
        one.locator("#open").click()
    assert becomes(one, lambda: width(one) <= PHONE["width"])


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", ["10_thing", "index"])
def test_axe_finds_nothing_serious(visit, name, scheme):
    place = find_spec("axe_playwright_python")
    if place is None:
        pytest.skip("needs the package axe-playwright-python")
    one = visit(name, scheme=scheme)
    if name != "index":
        one.locator("#open").click()
    one.add_script_tag(path=Path(place.origin).parent / "axe.min.js")
    found = []

    def clean():
        found[:] = [row for row in one.evaluate(AXE) if row[0] in ("serious", "critical")]
        return not found

    assert becomes(one, clean, tries=10), json.dumps(found, indent=1)
