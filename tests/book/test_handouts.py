"""The handouts: a few sheets, nothing cut off, and no answer to the quiz."""

import importlib.util
import re

import pytest
from lxml.html import tostring

CHAPTERS = ["lectures/02_self_attention", "lectures/13_detection"]
WIDTH = round((210 - 2 * 16) / 25.4 * 96 / 0.75)  # pixels between A4's margins, at the print's scale


@pytest.fixture(scope="module")
def printer(root):
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(root / "book")
        spec = importlib.util.spec_from_file_location("handouts", root / "book" / "handouts.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_a_handout_is_whole(printer, html, browser, tmp_path, chapter):
    page = browser.new_page(viewport={"width": WIDTH, "height": 1400})
    sheet = printer.handout(chapter)
    printer.write(page, printer.dressed(chapter, printer.STYLE, [sheet]), tmp_path / "sheet.pdf")
    assert 1 <= len(re.findall(rb"/Type\s*/Page\b", (tmp_path / "sheet.pdf").read_bytes())) <= 4
    page.emulate_media(media="print")
    wide = """(most) => [...document.querySelectorAll("article *:not(.katex-mathml *, .katex svg *)")]
        .filter((e) => e.getBoundingClientRect().right > most + 1 || e.naturalWidth === 0).length"""
    assert page.evaluate(wide, WIDTH) == 0
    page.close()


def test_every_chapter_has_what_a_student_takes_along(printer, html):
    names = printer.spines()
    assert len(names) > 30
    for name in names:
        sheet = printer.handout(name)
        assert len(sheet.xpath(".//h1")) == len(sheet.xpath(".//figure")) == 1, name
        assert sheet.xpath(".//h2[text()='In one minute']/following-sibling::*[1]/li"), name
        questions = sheet.xpath(".//div[@class='question']")
        assert len(questions) >= 2, name
        assert all(len(question.xpath("./ol/li")) >= 2 for question in questions), name
        assert not re.search(r"\b(Right|Wrong)\.", tostring(sheet, encoding="unicode", method="text")), name
