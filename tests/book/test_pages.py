"""Every page of the book in a browser: both themes, a wide screen, 200% zoom and a phone."""

import functools
import gzip
import os
import re
from pathlib import Path

import pytest

from .conftest import serve
from .visit import CONTENT, WAYS, Visit

TOC = Path(__file__).parents[2] / "_toc.yml"
PAGES = [*re.findall(r"(?:root|file): (\S+)", TOC.read_text()), "genindex", "py-modindex", "search"]
# One page of each kind, whose sidebars are judged too.
KINDS = {"book/index", "lectures/05_block", "labs/student/01_self_attention", "book/api/layers", "search"}
SLOW = float(os.environ.get("PIONEERS_SLOW_MACHINE", 1))
WEIGHT = 1_500_000  # bytes of a page with everything it loads, text compressed as web servers send it
TEXT = {".html", ".css", ".js", ".svg", ".json"}
SHIFT = 0.1  # how much of the screen may jump while a page loads: what the Web Vitals call good
RAW = re.compile(r"\$[^$\n]+\$|\\[(\[]|\\[a-zA-Z]{2,}")


@functools.cache
def weight(path):
    """Bytes of a file on their way to a browser."""
    return len(gzip.compress(path.read_bytes()) if path.suffix in TEXT else path.read_bytes())


@pytest.fixture(scope="module", params=PAGES)
def visit(request, browser, address):
    return Visit(browser, address, request.param).audit(WAYS if request.param in KINDS else CONTENT)


def broken(visits):
    """The rules that a visit's page breaks, by where."""
    return {where: found for where, found in visits.violations.items() if found}


def test_loads_without_complaint_and_alone(visit):
    assert visit.complaints == []
    assert visit.outside == []


def test_formulas_are_typeset(visit):
    assert RAW.findall(visit.shown["text"]) == []
    assert visit.shown["mistyped"] == 0


def test_nothing_is_wider_than_the_screen(visit):
    assert not {where: found for where, found in visit.wide.items() if found}


def test_whatever_scrolls_shows_it_and_can_be_reached_by_keyboard(visit):
    assert visit.unreachable == []
    assert visit.unseen == []


def test_breaks_no_rule_of_accessibility(visit):
    assert not broken(visit)


def test_is_light_and_steady(visit, html):
    heavy = {path: weight(html / path) for path in visit.loaded}
    assert 100_000 < sum(heavy.values()) <= WEIGHT  # a page comes with its styles
    assert visit.speed["shift"] <= SHIFT


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_borders_and_colours_do_not_wait_for_the_scripts_of_the_theme(browser, address, scheme):
    context = browser.new_context(color_scheme=scheme)
    page = context.new_page()
    page.route("**/pydata-sphinx-theme.js*", lambda route: route.abort())
    page.goto(f"{address}book/api/weights.html")
    assert page.evaluate("document.documentElement.dataset.theme") == scheme
    context.close()


def test_the_kinds_of_pages_exist():
    assert set(PAGES) >= KINDS


def test_the_heaviest_pages_are_shown_at_once(html, browser, address):
    heaviest = sorted(PAGES, key=lambda name: weight(html / f"{name}.html"))[-3:]
    for name in heaviest:
        visits = []
        while len(visits) < 10:  # the quickest counts: the machine may be busy with something else
            visits.append(Visit(browser, address, name).measure())
            quickest = {of: min(visit[of] for visit in visits) for of in ("first", "largest")}
            if quickest["first"] < 1000 * SLOW and quickest["largest"] < 2500 * SLOW:
                break
        assert quickest["first"] < 1000 * SLOW, name
        assert quickest["largest"] < 2500 * SLOW, name


def test_the_sources_are_pages_too(html, browser, address):
    """The smallest, the middle one and the largest: one template makes all of them."""
    paths = sorted(html.glob("_modules/**/*.html"), key=weight)
    chosen = [paths[0], paths[len(paths) // 2], paths[-1]]
    names = [str(path.relative_to(html).with_suffix("")) for path in chosen]
    found = {name: Visit(browser, address, name).audit(CONTENT[:1]) for name in names}
    assert not {name: visit.complaints + visit.outside for name, visit in found.items() if visit.complaints}
    assert not {name: broken(visit) for name, visit in found.items() if broken(visit)}
    assert not {name: visit.wide for name, visit in found.items() if any(visit.wide.values())}


FAULTS = {
    "raw TeX": r"<p>The scale is $\sqrt{d_k}$.</p>",
    "a picture from elsewhere": '<img src="https://example.org/cat.png" alt="A cat on a mat">',
    "a broken script": "<script>undefinedFunction()</script>",
    "a lost file": '<img src="lost.png" alt="A picture that is lost">',
    "a wide box": '<div style="width: 400px">wide</div>',
    "no alt text": '<img src="data:image/gif;base64,R0lGODlhAQABAAAAACw=">',
    "pale text": '<p style="color: #999; background: #fff">pale</p>',
    "pale code": '<pre><span style="color: #000">a</span><span style="color: #999">b</span></pre>',
    "a pale signature": '<dl><dt class="sig">a<em style="color: #999">b</em></dt><dd>text</dd></dl>',
    "a scrolling box": '<div style="overflow-x: auto; width: 99px"><p style="width: 300px">far</p></div>',
}


@pytest.mark.parametrize("fault", FAULTS)
def test_faults_are_found(browser, tmp_path, fault):
    head = '<!doctype html><html lang="en" data-theme="light"><title>A page</title>'
    site = tmp_path / "site"
    site.mkdir()
    (site / "page.html").write_text(f"{head}<main><h1>A page</h1>{FAULTS[fault]}</main></html>")
    with serve(tmp_path, site) as address:
        visit = Visit(browser, address, "page").audit()
    rules = {found.split(":")[0] for place in visit.violations.values() for found in place}
    seen = {
        "raw TeX": RAW.findall(visit.shown["text"]),
        "a picture from elsewhere": visit.outside,
        "a broken script": [said for said in visit.complaints if "undefinedFunction" in said],
        "a lost file": [said for said in visit.complaints if said.startswith("404")],
        "a wide box": visit.wide["phone"],
        "no alt text": rules & {"image-alt"},
        "pale text": rules & {"color-contrast"},
        "pale code": rules & {"color-contrast"},
        "a pale signature": rules & {"color-contrast"},
        "a scrolling box": visit.unreachable and visit.unseen,
    }
    assert {name for name, found in seen.items() if found} >= {fault}
