"""The files of the built book: links that lead somewhere, figures in words, nothing fetched elsewhere."""

import re
from collections import Counter
from string import ascii_lowercase
from urllib.parse import unquote, urlsplit

import pytest
from lxml.html import document_fromstring


@pytest.fixture(scope="module")
def pages(root, html):
    names = re.findall(r"(?:root|file): (\S+)", (root / "_toc.yml").read_text())
    files = [html / f"{name}.html" for name in [*names, "index", "genindex", "search"]]
    assert [file for file in files if not file.is_file()] == [], "build the book: make book"
    return {file: document_fromstring(file.read_text(encoding="utf-8")) for file in files}


@pytest.fixture(scope="module")
def every_page(html):
    """Every HTML file of the book, the sources of the package among them."""
    files = [path for path in html.rglob("*.html") if "_static" not in path.parts]
    return {path: document_fromstring(path.read_text(encoding="utf-8")) for path in files}


def has_class(name):
    """The condition of an XPath that an element is of a class."""
    return f"contains(concat(' ', normalize-space(@class), ' '), ' {name} ')"


def test_internal_links_lead_somewhere(html, every_page):
    places, broken = {path: set(page.xpath("//@id")) for path, page in every_page.items()}, []
    for path, page in every_page.items():
        for target in {*page.xpath("//@href"), *page.xpath("//@src")}:
            url = urlsplit(target)
            if url.scheme or target == "#":
                continue
            file = (path.parent / unquote(url.path)).resolve() if url.path else path
            if not file.is_file() or html not in file.parents:
                broken.append(f"{path.name}: {target}")
            elif url.fragment and file in places and unquote(url.fragment) not in places[file]:
                broken.append(f"{path.name}: no place {target}")
    assert not broken


def test_places_have_one_name_each(every_page):
    counts = {path.name: Counter(page.xpath("//@id")) for path, page in every_page.items()}
    assert not {(page, place) for page, count in counts.items() for place in count if count[place] > 1}


def test_every_figure_says_what_it_shows(pages):
    images = [
        (path.name, image.get("alt", ""))
        for path, page in pages.items()
        for image in page.xpath("//article/descendant::img")
    ]
    poor = [(name, alt) for name, alt in images if len(alt) < 15 or re.search(r"\.(png|jpe?g|svg)$|/", alt)]
    assert images
    assert not poor


def test_every_table_is_a_table(pages):
    raw = [
        (path.name, text[:60])
        for path, page in pages.items()
        for paragraph in page.xpath("//article/descendant::p")
        if re.search(r"\|\s*:?(--|[–—])", text := paragraph.text_content())
    ]
    assert not raw


def test_every_page_says_what_it_is_about(html, pages):
    words = {}
    for path, page in pages.items():
        if path == html / "index.html":  # leads to the first page
            continue
        metas = page.xpath("//meta[@content]")
        tags = {meta.get("name") or meta.get("property"): meta.get("content") for meta in metas}
        words[path] = tags["description"]
        assert len(tags["description"]) > 20 and "<" not in tags["og:title"], path
        assert (path.parent / urlsplit(tags["og:image"]).path).resolve().is_file() or "//" in tags["og:image"]
        icon = page.xpath("//link[contains(concat(' ', @rel, ' '), ' icon ')]/@href")[0]
        assert (path.parent / icon).resolve().is_file()
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
        numbers[html / f"{name}.html"] = chapter + "".join(ascii_lowercase[seen[chapter]]).strip("a")
        seen[chapter] += 1
    assert {"1", "6", "6b", "9", "9b", "13", "13b"} <= set(numbers.values())
    links = 0
    for path, page in pages.items():
        contents = f"//*[{has_class('bd-docs-nav')}]/descendant::a[contains(@href, 'lectures/')]"
        for entry in page.xpath(contents):
            number = numbers[(path.parent / entry.get("href")).resolve()]
            assert entry.text_content().startswith(f"{number} ")
        for link in page.xpath(f"//article/descendant::a[descendant::*[{has_class('chapter')}]]"):
            number = numbers[(path.parent / urlsplit(link.get("href")).path).resolve()]
            assert link.text_content().endswith(f" (ch.\N{NO-BREAK SPACE}{number})")
            links += 1
        if path in numbers:
            title = page.xpath(f"//article/descendant::h1/descendant::*[{has_class('section-number')}]")[0]
            assert title.text_content() == f"{numbers[path]} "
            counted = f"//article/descendant::*[{has_class('caption-number')} or {has_class('eqno')}]"
            texts = [number.text_content() for number in page.xpath(counted)]
            assert all(re.match(rf"(Fig\. |\(){numbers[path]}\.\d", text) for text in texts)
    assert links > 100


def test_every_lecture_offers_its_notebook(html, pages):
    lectures = [path for path in pages if path.parent.name == "lectures"]
    assert lectures
    for path in lectures:
        links = [link for link in pages[path].xpath("//a/@href") if link.endswith(".ipynb")]
        assert links and (path.parent / links[0]).resolve().is_file()


def test_nothing_is_fetched_from_elsewhere(html, pages):
    loaded = "//script/@src | //img/@src | //iframe/@src | //source/@src | //link[{}]/@href".format(
        " or ".join(f"contains(concat(' ', @rel, ' '), ' {kind} ')" for kind in ("stylesheet", "preload"))
    )
    fetched = [
        f"{path.name}: {value}"
        for path, page in pages.items()
        for value in page.xpath(loaded)
        if urlsplit(value).netloc
    ]
    inline = [path.name for path, page in pages.items() if "cdn" in " ".join(page.xpath("//script/text()"))]
    imported = [
        style.name
        for style in html.rglob("*.css")
        if re.search(r"(@import|url\()\s*[\"']?(https?:)?//", style.read_text(encoding="utf-8"))
    ]
    assert not fetched + inline + imported
