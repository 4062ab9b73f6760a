"""A page as a reader uses it: one walk through it in Chromium, the same for every page."""

import json
import shutil
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import pytest

from npexplore.paths import share

WIDE, PHONE = {"width": 1400, "height": 900}, {"width": 390, "height": 844}
LONG_MS = 600_000
MOST_BYTES = 400_000  # of a page, beside the library
MARKS = ".trace, .shapelayer path, .heatmaplayer image, .sankey, .pielayer path, .annotation"
DRAWN = f"[...document.querySelectorAll('[data-figure]')].map(f => f.querySelectorAll('{MARKS}').length)"
SERIOUS = """async () => {  // of rows alike in elements and styles one is looked at: thousands take minutes
  const seen = new Set(), alike = [...document.querySelectorAll('tbody tr')].filter(row => {
    const kind = row.closest('table').className + row.outerHTML.replace(/>[^<]+</g, '><');
    return row.style.display === '' && (seen.has(kind) || !seen.add(kind));
  });
  alike.forEach(row => { row.style.display = 'none'; });
  const found = await axe.run(document, {resultTypes: ['violations']});
  alike.forEach(row => { row.style.display = ''; });
  return found.violations.filter(v => ['serious', 'critical'].includes(v.impact))
    .map(v => [v.id, v.nodes.length, v.nodes[0].html.slice(0, 160), v.nodes[0].failureSummary.slice(0, 200)]);
}"""


@contextmanager
def chromium():
    """Run Debian's Chromium; skips where it or the package that drives it is not there."""
    playwright = pytest.importorskip("playwright.sync_api")
    program = shutil.which("chromium")
    if program is None:
        pytest.skip("needs the program chromium")
    with playwright.sync_playwright() as drive:
        running = drive.chromium.launch(executable_path=program, args=["--no-sandbox", "--disable-gpu"])
        yield running
        running.close()


def becomes(one, ready, tries=150):
    """Say whether something is so, or becomes so within half a minute: a busy browser draws late."""
    for _ in range(tries):
        one.wait_for_timeout(300)
        if ready():
            return True
    return False


@contextmanager
def opened(browser, page, wrong, **kept):
    """Open a page; what it says on the console, or asks of a network, is added to `wrong`."""
    context = browser.new_context(**kept)
    one = context.new_page()
    one.set_default_timeout(LONG_MS)
    one.on("console", lambda said: wrong.append(said.text) if said.type == "error" else None)
    one.on("pageerror", lambda error: wrong.append(str(error)))
    one.on(
        "request", lambda asked: None if asked.url.startswith(("file:", "data:", "blob:")) else wrong.append(asked.url)
    )
    one.goto(page.as_uri())
    yield one
    context.close()


def read_as_a_reader(page):
    """Walk through the page of a notebook and assert what a reader relies on."""
    assert page.stat().st_size <= MOST_BYTES
    pages, wrong = [path.stem for path in share("notebooks").glob("[0-9]*.py")], []
    with chromium() as browser, opened(browser, page, wrong, viewport=WIDE, color_scheme="light") as one:
        first_screen(one)
        links(one, pages)
        one.locator("#open").click()
        assert one.locator("details.chapter:not([open])").count() == 0
        figures(one)
        tables(one)
        sliders(one)
        assert becomes(one, lambda: not violations(one), tries=10), violations(one)
        one.set_viewport_size(PHONE)
        figures(one)
        fits(one)
        one.locator("#open").click()  # dark tables are those of light pages; what has colours of its own stands above
        one.set_viewport_size(WIDE)
        theme(one)
        assert becomes(one, lambda: not violations(one), tries=10), violations(one)
    assert wrong == []


def first_screen(one):
    """Answer, figure, score and links stand on the first screen."""
    if not one.locator(".first").count():
        return
    one.wait_for_selector(".first .main-svg")
    for what in (".answer dd:last-child", ".first [data-figure]", ".first .score", ".first .next"):
        if what == ".first .score" and not one.locator(what).count():
            continue
        assert becomes(one, lambda what=what: within(one.locator(what).first.bounding_box())), what


def within(box):
    """Say whether a box stands on the first screen."""
    return box["y"] >= 0 and box["y"] + box["height"] <= WIDE["height"] and box["x"] + box["width"] <= WIDE["width"]


def width(one):
    """Return how wide a page is, in pixels."""
    return one.evaluate("document.documentElement.scrollWidth")


def links(one, pages):
    """Links lead somewhere: to a place of this page, or to a page of the report."""
    found = one.evaluate("[...document.querySelectorAll('a[href]')].map(a => a.getAttribute('href'))")
    inside = [name.removeprefix("#") for name in found if name.startswith("#")]
    lost = one.evaluate("names => names.filter(n => !document.getElementById(decodeURIComponent(n)))", inside)
    assert lost == []
    outside = {name.partition("#")[0] for name in found if not name.startswith("#")}
    assert {name for name in outside if name.endswith(".html")} <= {f"{name}.html" for name in (*pages, "index")}


def figures(one):
    """Every figure is drawn and has something in it."""
    one.evaluate("document.dispatchEvent(new CustomEvent('npx-print'))")
    one.wait_for_function("[...document.querySelectorAll('[data-figure]')].every(f => f.querySelector('.main-svg'))")
    assert becomes(one, lambda: all(one.evaluate(DRAWN))), one.evaluate(DRAWN)


def tables(one):
    """The first table that sorts does, by click; the first that has a filter keeps rows that hold its words."""
    heads = one.locator("th .sort")
    if heads.count():
        heads.first.click()
        assert one.locator("th[aria-sort=ascending]").count() == 1
    filters = one.locator(".rows input")
    if filters.count():
        filters.first.fill("no row holds these words")
        assert one.locator(".rows [role=status]").first.inner_text().startswith("0 of ")
        filters.first.fill("")


def sliders(one):
    """A slider of each machine moves what is told of it."""
    for box in one.locator("[data-play]").all():
        slider, names = box.locator("input[type=range]").first, ("data-bound", "data-queueing", "data-bottleneck")
        before = [box.get_attribute(name) for name in names]
        slider.fill("0")
        least = [box.get_attribute(name) for name in names]
        slider.fill(slider.get_attribute("max"))
        assert len({str(told) for told in (before, least, [box.get_attribute(name) for name in names])}) > 1


def theme(one):
    """The dark theme is another picture, of figures too."""
    ground = "getComputedStyle(document.body).backgroundColor"
    light = one.evaluate(ground)
    one.locator(".theme").click()
    assert one.evaluate(ground) != light
    if one.locator("[data-figure]").count():
        seen = one.locator("[data-figure]:visible")
        if seen.count():
            seen.first.scroll_into_view_if_needed()
        else:  # all are in folded sections
            one.evaluate("document.dispatchEvent(new CustomEvent('npx-print'))")
        one.wait_for_function("!!document.querySelector('[data-figure][data-theme=dark]')")


def fits(one):
    """The page comes to be no wider than a phone; figures are drawn anew for it, which takes its time."""
    assert becomes(one, lambda: width(one) <= PHONE["width"]), widest(one)


def violations(one):
    """Return what axe finds that is serious."""
    place = find_spec("axe_playwright_python")
    if place is None:
        pytest.skip("needs the package axe-playwright-python")
    if not one.evaluate("!!window.axe"):
        one.add_script_tag(path=Path(place.origin).parent / "axe.min.js")
    return one.evaluate(SERIOUS)


def widest(one):
    """Return what is wider than the page, for the message of a failed test."""
    return json.dumps(one.evaluate(
        "[...document.querySelectorAll('main *')].filter(e => e.getBoundingClientRect().right > innerWidth + 1)"
        ".filter(e => !e.closest('.table, .output, .highlight, pre')).slice(0, 5).map(e => e.outerHTML.slice(0, 200))"
    ))  # fmt: skip
