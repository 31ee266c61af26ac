"""The decks: they open without a network, no slide overflows, and they say nothing that the page does not."""

import re

import pytest
import yaml
from lxml import html as markup

# Steps through a deck: what is wrong with each slide, by its number, and how many there are.
WALK = """() => {
  const faults = [], slides = Reveal.getSlides();
  const room = document.querySelector(".reveal").getBoundingClientRect();
  for (const [index, slide] of slides.entries()) {
    const { h, v } = Reveal.getIndices(slide), fault = (words) => faults.push(`slide ${index + 1}: ${words}`);
    Reveal.slide(h, v);
    if (Reveal.getCurrentSlide() !== slide) fault("it cannot be reached");
    if (slide.scrollHeight > 720 || slide.scrollWidth > 1280) fault("it scrolls");
    for (const element of slide.querySelectorAll(":scope > :not(aside), :scope > :not(aside) *")) {
      const { left, top, right, bottom, width } = element.getBoundingClientRect();
      const drawn = width && !element.closest(".katex-mathml, .katex svg");
      if (drawn && (left < 0 || top < 0 || right > room.right + 1 || bottom > room.bottom + 1))
        fault(`<${element.tagName.toLowerCase()}> reaches out of it`);
      if (element.tagName === "PRE" && element.scrollWidth > element.clientWidth) fault("code is cut off");
      if (element.matches("figure img, svg.schematic") && bottom - top < 150) fault("a small figure");
      if (element.tagName === "IMG" && !element.naturalWidth) fault("a picture is missing");
    }
    if (!slide.querySelector(":scope > :is(h1, h2, h3)")) fault("it has no title");
    if (!slide.querySelector(":scope > :not(h1, h2, h3, aside)")) fault("it has only a title");
  }
  return { faults, number: slides.length };
}"""
BLOCKS = " | ".join(f"//section//{tag}" for tag in ("h1", "h2", "h3", "p", "li", "pre", "td", "th"))


def spines(root):
    contents = yaml.safe_load((root / "_toc.yml").read_text())
    files = [chapter["file"] for part in contents["parts"] for chapter in part["chapters"]]
    return [file for file in files if file.startswith("lectures/")]


@pytest.fixture(scope="module")
def decks(root):
    """The folder of the decks."""
    folder = root / "_build" / "slides"
    if not (folder / "lectures").is_dir():
        pytest.skip("the slides are not built: run `make slides`")
    return folder


@pytest.fixture(scope="module")
def page(browser):
    """A page of the size of a slide, without a network, which collects what is asked for and what fails."""
    context = browser.new_context(viewport={"width": 1280, "height": 720}, offline=True)
    page = context.new_page()
    page.asked, page.failed = [], []
    context.on("request", lambda request: page.asked.append(request.url))
    context.on("requestfailed", lambda request: page.failed.append(request.url))
    context.on("weberror", lambda error: page.failed.append(str(error.error)))
    yield page
    context.close()


def test_there_is_a_deck_for_each_chapter(root, decks):
    assert {f"lectures/{deck.stem}" for deck in decks.glob("lectures/*.html")} == set(spines(root))


def test_no_slide_overflows_and_nothing_is_fetched(root, decks, page):
    faults, slides = {}, {}
    for name in spines(root):
        page.asked.clear()
        page.failed.clear()
        page.goto((decks / f"{name}.html").as_uri())
        page.wait_for_function("Reveal.isReady()")
        page.evaluate(WALK)  # a font is fetched when a slide needs it
        page.evaluate("document.fonts.ready.then(() => true)")
        found = page.evaluate(WALK)
        elsewhere = [url for url in page.asked if not url.startswith((decks.as_uri(), "data:"))]
        slides[name], faults[name] = found["number"], [*found["faults"], *page.failed, *elsewhere]
    assert {name: wrong for name, wrong in faults.items() if wrong} == {}
    assert all(10 <= number <= 60 for number in slides.values()), slides


def words(element):
    """The text of an element without formulas, and without the space between words."""
    for formula in element.xpath(".//*[@class='katex'] | .//math | .//*[contains(@class, 'headerlink')]"):
        formula.drop_tree()
    return re.sub(r"\s+", "", element.text_content())


def formulas(element):
    return {re.sub(r"\s+", "", tex) for tex in element.xpath(".//annotation/text()")}


def test_a_deck_says_nothing_that_the_page_does_not(root, decks, html):
    more = {}
    for name in spines(root):
        deck = markup.parse(decks / f"{name}.html").getroot()
        article = markup.parse(html / f"{name}.html").getroot().find(".//article")
        extra = formulas(deck) - formulas(article)
        text = words(article)
        more[name] = [*extra, *(said for block in deck.xpath(BLOCKS) if (said := words(block)) not in text)]
    assert {name: said for name, said in more.items() if said} == {}


def test_the_speaker_has_notes(decks, page):
    page.goto((decks / "lectures/02_self_attention.html").as_uri())
    page.wait_for_function("Reveal.isReady()")
    with page.expect_popup() as popup:
        page.keyboard.press("s")
    notes = popup.value.locator(".speaker-controls-notes .value")
    notes.get_by_text("What is it?").wait_for()
    assert notes.locator("p").count() >= 1
