"""The one document that is printed: every page in its order, every link and picture in its place."""

import importlib.util
from urllib.parse import unquote

import pytest
from bs4 import BeautifulSoup


@pytest.fixture(scope="module")
def printer(root):
    spec = importlib.util.spec_from_file_location("pdf", root / "book" / "pdf.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def whole(printer, html):
    return BeautifulSoup(printer.join(), "html.parser")


def test_every_page_is_there_once_in_order(printer, whole):
    order = printer.pages()
    assert order[0] == "book/index"
    assert len(order) == len(set(order)) > 40
    assert [article["id"] for article in whole.select("article")] == order


def test_links_and_pictures_are_found(whole, html):
    places = {element["id"] for element in whole.select("[id]")}
    inside = [unquote(link["href"][1:]) for link in whole.select("a[href^='#']") if link["href"] != "#"]
    assert len(inside) > 100
    assert not [place for place in inside if place not in places]
    files = [image["src"] for image in whole.select("img") if not image["src"].startswith("data:")]
    assert files
    assert not [file for file in files if not (html / unquote(file)).is_file()]


def test_names_of_different_pages_do_not_meet(whole):
    names = [element["id"] for element in whole.select("article [id]")]
    assert len(names) == len(set(names))


def test_what_opens_on_a_screen_is_open_on_paper(whole):
    folded = whole.select("details")
    assert folded
    assert all(element.has_attr("open") for element in folded)
    assert not whole.select("script")
