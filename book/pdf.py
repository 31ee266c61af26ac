"""Print the built book as one PDF with Chromium: pages in the order of the contents, links between them kept.

    python book/pdf.py

Every page's article goes into one document. What a page calls ``#place`` is called ``#page/place`` there.
"""

import posixpath
import re
import shutil
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

from lxml import html
from playwright.sync_api import Page, sync_playwright

ROOT = Path(__file__).resolve().parents[1]
HTML = ROOT / "_build" / "html"
PDF = ROOT / "_build" / "pioneering_transformers.pdf"
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
PAGES = "article { break-before: page; max-width: none } article:first-of-type { break-before: auto }"
FOOT = (
    """<div style="width: 100%; font-size: 8px; text-align: center"><span class="pageNumber"></span></div>"""
)


def pages() -> list[str]:
    """The pages of the table of contents, in their order."""
    return re.findall(r"(?:root|file): (\S+)", (ROOT / "_toc.yml").read_text(encoding="utf-8"))


def read(page: str) -> html.HtmlElement:
    """A page of the built book, without its scripts."""
    found = html.document_fromstring((HTML / f"{page}.html").read_text(encoding="utf-8"))
    for element in found.xpath("//script"):
        element.drop_tree()
    return found


def article(page: str, known: set[str]) -> html.HtmlElement:
    """The text of a page, its names made unique and its addresses those of the one document."""
    found = read(page).find(".//article")
    for element in found.iter("details"):
        element.set("open", "")
    for element in found.xpath(".//*[@id]"):
        element.set("id", f"{page}/{element.get('id')}")
    found.set("id", page)
    for name in ("href", "src"):
        for element in found.xpath(f".//*[@{name}]"):
            element.set(name, address(page, element.get(name), known))
    return found


def address(page: str, written: str, known: set[str]) -> str:
    """Where an address written on a page leads from the one document."""
    url = urlsplit(written)
    if url.scheme or url.netloc:
        return written
    path = (
        posixpath.normpath(posixpath.join(posixpath.dirname(page), url.path)) if url.path else f"{page}.html"
    )
    target = path.removesuffix(".html")
    if path.endswith(".html") and target in known:
        return f"#{target}/{url.fragment}" if url.fragment else f"#{target}"
    return path


def dressed(page: str, style: str, articles: Iterable[html.HtmlElement]) -> str:
    """A document of articles in the dress of a page, with a style of its own."""
    whole = read(page)
    for element in whole.xpath("//link[@href]"):
        element.set("href", address(page, element.get("href"), set()))
    whole.set("data-theme", "light")
    whole.head.append(html.fromstring(f"<style>{style}</style>"))
    whole.body.clear()
    whole.body.extend(articles)
    return "<!doctype html>" + html.tostring(whole, encoding="unicode")


def join() -> str:
    """All pages in the dress of the opening page."""
    order = pages()
    return dressed(order[0], PAGES, (article(page, set(order)) for page in order))


@contextmanager
def chromium() -> Iterator[Page]:
    """A page of the browser."""
    executable = next(filter(None, map(shutil.which, BROWSERS)), None)
    if executable is None:
        sys.exit("no browser: sudo apt install chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=["--no-sandbox"])
        page = browser.new_page()
        page.set_default_timeout(3_600_000)
        yield page
        browser.close()


def write(page: Page, document: str, path: Path, **options: bool) -> None:
    """Print a document with numbers of pages; what it shows lies in the folder of the built book."""
    file = HTML / "_whole.html"
    file.write_text(document, encoding="utf-8")
    try:
        page.goto(file.as_uri(), wait_until="load")
        page.evaluate("document.fonts.ready.then(() => true)")
        page.pdf(
            path=path, scale=0.75, prefer_css_page_size=True, print_background=True, tagged=True,
            display_header_footer=True, header_template="<span></span>", footer_template=FOOT, **options,
        )  # fmt: skip
    finally:
        file.unlink()


def main() -> None:
    """Write the PDF."""
    with chromium() as page:
        write(page, join(), PDF, outline=True)
    print(f"{PDF.relative_to(ROOT)}: {PDF.stat().st_size / 2**20:.1f} MiB")


if __name__ == "__main__":
    main()
