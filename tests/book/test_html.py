"""The files of the built book: links that lead somewhere, figures in words, nothing fetched elsewhere."""

import re
from collections import Counter
from html.parser import HTMLParser
from urllib.parse import unquote, urlsplit

import pytest
from bs4 import BeautifulSoup


@pytest.fixture(scope="module")
def pages(root, html):
    names = re.findall(r"(?:root|file): (\S+)", (root / "_toc.yml").read_text())
    files = [html / f"{name}.html" for name in [*names, "index", "genindex", "search"]]
    assert [file for file in files if not file.is_file()] == [], "build the book: make book"
    return {file: BeautifulSoup(file.read_text(encoding="utf-8"), "html.parser") for file in files}


class Places(HTMLParser):
    """The places of a page, and what it links or loads."""

    def __init__(self, path):
        super().__init__()
        self.ids, self.targets = [], []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        for name, value in attrs:
            if name == "id":
                self.ids.append(value)
            elif name in ("href", "src"):
                self.targets.append(value)


@pytest.fixture(scope="module")
def places(html):
    """Every HTML file of the book, the sources of the package among them."""
    return {path: Places(path) for path in html.rglob("*.html") if "_static" not in path.parts}


def test_internal_links_lead_somewhere(html, places):
    broken = []
    for path, page in places.items():
        for target in set(page.targets):
            url = urlsplit(target)
            if url.scheme or target == "#":
                continue
            file = (path.parent / unquote(url.path)).resolve() if url.path else path
            if not file.is_file() or html not in file.parents:
                broken.append(f"{path.name}: {target}")
            elif url.fragment and file in places and unquote(url.fragment) not in places[file].ids:
                broken.append(f"{path.name}: no place {target}")
    assert not broken


def test_places_have_one_name_each(places):
    counts = {path.name: Counter(page.ids) for path, page in places.items()}
    assert not {(page, place) for page, count in counts.items() for place in count if count[place] > 1}


def test_every_figure_says_what_it_shows(pages):
    images = [
        (path.name, image.get("alt", ""))
        for path, page in pages.items()
        for image in page.select("article img")
    ]
    poor = [(name, alt) for name, alt in images if len(alt) < 15 or re.search(r"\.(png|jpe?g|svg)$|/", alt)]
    assert images
    assert not poor


def test_every_table_is_a_table(pages):
    raw = [
        (path.name, paragraph.text[:60])
        for path, page in pages.items()
        for paragraph in page.select("article p")
        if re.search(r"\|\s*:?(--|[–—])", paragraph.text)
    ]
    assert not raw


def test_every_page_says_what_it_is_about(html, pages):
    words = {}
    for path, page in pages.items():
        if path == html / "index.html":  # leads to the first page
            continue
        metas = page.select("meta[content]")
        tags = {meta.get("name") or meta.get("property"): meta["content"] for meta in metas}
        words[path] = tags["description"]
        assert len(tags["description"]) > 20 and "<" not in tags["og:title"], path
        assert (path.parent / urlsplit(tags["og:image"]).path).resolve().is_file() or "//" in tags["og:image"]
        assert (path.parent / page.select_one("link[rel~=icon]")["href"]).resolve().is_file()
    assert len(set(words.values())) > 0.9 * len(words)


def test_neither_a_gap_nor_a_deeper_page_shifts_a_chapter(root, monkeypatch):
    monkeypatch.syspath_prepend(root / "book" / "_ext")
    from chapters import chapters

    names = ["book/index", "lectures/02_a", "lectures/02_a_deeper", "lectures/02_b", "lectures/13_c"]
    assert chapters(names) == dict(zip(names[1:], ["2", "2b", "2c", "13"], strict=True))


def test_chapters_are_numbered_everywhere(root, html, pages):
    seen, numbers = Counter(), {}
    for name in re.findall(r"file: (lectures/\S+)", (root / "_toc.yml").read_text()):
        chapter = str(int(re.search(r"\d+", name)[0]))
        numbers[html / f"{name}.html"] = chapter + "".join("abcdefgh"[seen[chapter]]).strip("a")
        seen[chapter] += 1
    assert {"1", "6", "6b", "9", "9b", "13", "13b"} <= set(numbers.values())
    links = 0
    for path, page in pages.items():
        for entry in page.select(".bd-docs-nav a[href*='lectures/']"):
            assert entry.text.startswith(f"{numbers[(path.parent / entry['href']).resolve()]} ")
        for link in page.select("article a:has(.chapter)"):
            number = numbers[(path.parent / urlsplit(link["href"]).path).resolve()]
            assert link.text.endswith(f" (ch.\N{NO-BREAK SPACE}{number})")
            links += 1
        if path in numbers:
            assert page.select_one("article h1 .section-number").text == f"{numbers[path]} "
            counted = page.select("article .caption-number, article .eqno")
            assert all(re.match(rf"(Fig\. |\(){numbers[path]}\.\d", number.text) for number in counted)
    assert links > 100


def test_every_lecture_offers_its_notebook(html, pages):
    lectures = [path for path in pages if path.parent.name == "lectures"]
    assert lectures
    for path in lectures:
        link = pages[path].select_one("a[href$='.ipynb']")
        assert link and (path.parent / link["href"]).resolve().is_file()


def test_nothing_is_fetched_from_elsewhere(html, pages):
    fetched = [
        f"{path.name}: {value}"
        for path, page in pages.items()
        for element in page.select("script, link[rel~=stylesheet], link[rel~=preload], img, iframe, source")
        for value in [element.get("src") or element.get("href") or ""]
        if urlsplit(value).netloc
    ]
    inline = [path.name for path, page in pages.items() for s in page.select("script") if "cdn" in s.text]
    imported = [
        style.name
        for style in html.rglob("*.css")
        if re.search(r"(@import|url\()\s*[\"']?(https?:)?//", style.read_text(encoding="utf-8"))
    ]
    assert not fetched + inline + imported
