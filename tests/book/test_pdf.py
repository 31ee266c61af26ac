"""The one document that is printed: every page in its order, every link and picture in its place."""

import importlib.util
from urllib.parse import unquote

import pytest
from lxml.html import document_fromstring


@pytest.fixture(scope="module")
def printer(root):
    spec = importlib.util.spec_from_file_location("pdf", root / "book" / "pdf.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def whole(printer, html):
    return document_fromstring(printer.join())


def test_every_page_is_there_once_in_order(printer, whole):
    order = printer.pages()
    assert order[0] == "book/index"
    assert len(order) == len(set(order)) > 40
    assert whole.xpath("//article/@id") == order


def test_links_and_pictures_are_found(whole, html):
    places = set(whole.xpath("//@id"))
    inside = [unquote(link[1:]) for link in whole.xpath("//a/@href[starts-with(., '#')]") if link != "#"]
    assert len(inside) > 100
    assert not [place for place in inside if place not in places]
    files = [source for source in whole.xpath("//img/@src") if not source.startswith("data:")]
    assert files
    assert not [file for file in files if not (html / unquote(file)).is_file()]


def test_names_of_different_pages_do_not_meet(whole):
    names = [name for article in whole.iter("article") for name in article.xpath("descendant::*/@id")]
    assert len(names) == len(set(names))


def test_what_opens_on_a_screen_is_open_on_paper(whole):
    assert whole.xpath("//details")
    assert not whole.xpath("//details[not(@open)] | //script")
