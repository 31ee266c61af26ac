"""Print the built book as one PDF with Chromium: pages in the order of the contents, links between them kept.

    python book/pdf.py

Every page's article goes into one document. What a page calls ``#place`` is called ``#page/place`` there.
"""

import posixpath
import re
import shutil
import sys
from pathlib import Path
from urllib.parse import urlsplit

from bs4 import BeautifulSoup, Tag
from playwright.sync_api import sync_playwright

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


def article(page: str, known: set[str]) -> Tag:
    """The text of a page, its names made unique and its addresses those of the one document."""
    found = BeautifulSoup((HTML / f"{page}.html").read_text(encoding="utf-8"), "html.parser").select_one(
        "article"
    )
    found["id"] = page
    for element in found.select("script"):
        element.decompose()
    for element in found.select("details"):
        element["open"] = ""
    for element in found.select("[id]"):
        element["id"] = f"{page}/{element['id']}" if element is not found else page
    for element in found.select("[href], [src]"):
        key = "href" if element.has_attr("href") else "src"
        element[key] = address(page, element[key], known)
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


def join() -> str:
    """All pages in the dress of the opening page."""
    order = pages()
    whole = BeautifulSoup((HTML / f"{order[0]}.html").read_text(encoding="utf-8"), "html.parser")
    for element in whole.select("script"):
        element.decompose()
    for element in whole.select("link[href]"):
        element["href"] = address(order[0], element["href"], set())
    whole.html["data-theme"] = "light"
    whole.head.append(BeautifulSoup(f"<style>{PAGES}</style>", "html.parser"))
    whole.body.clear()
    for page in order:
        whole.body.append(article(page, set(order)))
    return str(whole)


def main() -> None:
    """Write the PDF."""
    executable = next(filter(None, map(shutil.which, BROWSERS)), None)
    if executable is None:
        sys.exit("no browser: sudo apt install chromium")
    document = HTML / "_whole.html"  # beside the files that it shows
    document.write_text(join(), encoding="utf-8")
    try:
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=executable, args=["--no-sandbox"])
            page = browser.new_page()
            page.set_default_timeout(3_600_000)
            page.goto(document.as_uri(), wait_until="load")
            page.evaluate("document.fonts.ready.then(() => true)")
            page.pdf(
                path=PDF, scale=0.75, prefer_css_page_size=True, print_background=True, tagged=True,
                outline=True, display_header_footer=True,
                header_template="<span></span>", footer_template=FOOT,
            )  # fmt: skip
            browser.close()
    finally:
        document.unlink()
    print(f"{PDF.relative_to(ROOT)}: {PDF.stat().st_size / 2**20:.1f} MiB")


if __name__ == "__main__":
    main()
