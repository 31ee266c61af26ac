"""The book in a browser, page by page, in both themes and on a narrow screen."""

import functools
import gzip
import http.server
import re
import shutil
import threading
from urllib.parse import urlsplit

import pytest

sync_api = pytest.importorskip("playwright.sync_api")

ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
WEIGHT = 1_000_000  # bytes of a page with everything it loads, text compressed as web servers send it
TEXT = {".html", ".css", ".js", ".svg", ".json"}
SHIFT = 0.1  # how much of the screen may jump while a page loads: what the Web Vitals call good
OBSERVE = """
window.shift = 0;
new PerformanceObserver(list => list.getEntries().forEach(entry => { window.shift += entry.value; }))
  .observe({ type: "layout-shift", buffered: true });
"""
READ = """
() => {
  const copy = document.querySelector("article").cloneNode(true);
  copy.querySelectorAll("pre, code, script, .katex").forEach(element => element.remove());
  const screen = document.documentElement.clientWidth;
  const cut = element => element !== document.body && getComputedStyle(element).overflowX !== "visible";
  const inside = element => element && (cut(element) || inside(element.parentElement));
  const wide = [...document.querySelectorAll("body *")].filter(
    element => element.getBoundingClientRect().right > screen + 1 && !inside(element.parentElement));
  return {
    text: copy.textContent,
    typeset: document.querySelectorAll("article .katex").length,
    mistyped: document.querySelectorAll(".katex-error").length,
    shift: window.shift,
    theme: document.documentElement.dataset.theme,
    wide: document.documentElement.scrollWidth > screen ? wide.map(one => one.outerHTML.slice(0, 200)) : null,
  };
}
"""


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *arguments):
        pass


@pytest.fixture(scope="module")
def address(html):
    handler = functools.partial(Quiet, directory=str(html))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


@pytest.fixture(scope="module")
def browser():
    executable = next(filter(None, map(shutil.which, BROWSERS)), None)
    if executable is None:
        pytest.skip("no browser: sudo apt install chromium")
    with sync_api.sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=executable, args=ARGUMENTS)
        yield running
        running.close()


@pytest.fixture(scope="module")
def names(root):
    return re.findall(r"(?:root|file): (\S+)", (root / "_toc.yml").read_text())


class Visit:
    """One page as it loaded: what it asked for, what it weighed, what it complained about, what it shows."""

    def __init__(self, browser, address, name, theme, width):
        self.name, self.complaints, self.outside, self.loaded = name, [], [], set()
        context = browser.new_context(viewport={"width": width, "height": 800}, color_scheme=theme)
        page = context.new_page()
        page.add_init_script(OBSERVE)
        page.on("console", self.listen)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("response", lambda response: self.loaded.add(urlsplit(response.url).path.lstrip("/")))
        page.route(lambda url: not url.startswith((address, "data:")), self.refuse)
        page.goto(f"{address}{name}.html", wait_until="load")
        page.evaluate("document.fonts.ready.then(() => true)")
        self.shown = page.evaluate(READ)
        context.close()

    def listen(self, message):
        if message.type in ("error", "warning"):
            self.complaints.append(message.text)

    def refuse(self, route):
        self.outside.append(route.request.url)
        route.abort()


@functools.cache
def weight(path):
    """Bytes of a file on their way to a browser."""
    return len(gzip.compress(path.read_bytes()) if path.suffix in TEXT else path.read_bytes())


@pytest.fixture(scope="module")
def visits(browser, address, names):
    """Every page in the light and the dark theme on a wide screen, and on a phone's."""
    ways = [("light", 1280), ("dark", 1280), ("light", 320)]
    return [Visit(browser, address, name, *way) for name in names for way in ways]


def test_pages_load_without_complaint_and_alone(visits):
    assert not [(visit.name, visit.complaints) for visit in visits if visit.complaints]
    assert not [(visit.name, visit.outside) for visit in visits if visit.outside]


def test_formulas_are_typeset(visits):
    raw = {
        visit.name: re.findall(r"\$[^$\n]+\$|\\[(\[]|\\[a-zA-Z]{2,}", visit.shown["text"]) for visit in visits
    }
    assert not {name: found for name, found in raw.items() if found}
    assert sum(visit.shown["typeset"] for visit in visits) > 0
    assert sum(visit.shown["mistyped"] for visit in visits) == 0


def test_pages_are_light_and_steady(visits, html):
    weights = {visit.name: sum(weight(html / path) for path in visit.loaded) for visit in visits}
    assert min(weights.values()) > 100_000  # pages with their styles
    assert not {name: bytes_ for name, bytes_ in weights.items() if bytes_ > WEIGHT}
    assert not {visit.name: visit.shown["shift"] for visit in visits if visit.shown["shift"] > SHIFT}


def test_nothing_is_wider_than_the_screen(visits):
    assert not {visit.name: visit.shown["wide"] for visit in visits if visit.shown["wide"] is not None}


def test_both_themes_are_worn(visits):
    assert {visit.shown["theme"] for visit in visits} == {"light", "dark"}


def test_a_solution_opens_by_keyboard(browser, address):
    page = browser.new_page()
    page.goto(f"{address}lectures/02_self_attention.html")
    box = page.locator("article details.admonition").first
    assert box.get_attribute("open") is None
    box.locator("summary").first.focus()
    page.keyboard.press("Enter")
    assert box.get_attribute("open") is not None
    page.close()


def test_the_search_finds_a_function(browser, address):
    page = browser.new_page()
    page.goto(f"{address}search.html?q=attention_weights")
    first = page.locator("#search-results li a").first
    first.wait_for()
    assert first.get_attribute("href").endswith("layers.html#pioneers.layers.attention_weights")
    page.close()
