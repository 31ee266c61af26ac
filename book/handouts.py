"""Print a handout for each chapter, from the built book: what a student takes to class.

    python book/handouts.py [lectures/04_positions ...]

It has the chapter's question and first schematic, its formulas with room for notes beside them, *In one
minute*, the quiz without its answers, and lines to write on.
"""

import sys
from copy import deepcopy

from lxml import html
from pdf import ROOT, address, chromium, dressed, pages, read, write

HANDOUTS = ROOT / "_build" / "handouts"
STYLE = """
article { font-size: 14px; line-height: 1.4; max-width: none !important }
h1 { font-size: 28px !important; margin: 0 0 8px !important }
h2 { font-size: 20px !important; margin: 16px 0 6px !important }
h3 { font-size: 15px !important; margin: 10px 0 2px !important }
:is(p, li, ul, ol) { margin-bottom: 4px !important }
figure { margin: 8px auto !important; text-align: center }
figure :is(img, svg) { height: auto !important; max-height: 300px; max-width: 100% }
figcaption { font-size: 13px !important }
.katex { font-size: 1em !important }
:is(.noted, .question) { break-inside: avoid }
.noted { display: grid; gap: 24px; grid-template-columns: 5fr 3fr }
.noted > div { min-width: 0 }
.line { border-bottom: 1px solid #bbb; height: 27px }
.question > p:first-child { font-weight: 600; margin-top: 10px }
.question > ol { list-style-type: upper-alpha }
"""


def spines() -> list[str]:
    """The chapters' first pages, in the order of the contents."""
    return [name for name in pages() if name.startswith("lectures/") and not name.endswith("_deeper")]


def element(tag: str, *inside: html.HtmlElement | str, style: str = "") -> html.HtmlElement:
    """An element with copies of others in it, or with words."""
    made = html.Element(tag, {"class": style})
    for part in inside:
        if isinstance(part, str):
            made.text = part
        else:
            made.append(deepcopy(part))
            made[-1].tail = None
    return made


def lines(count: int) -> list[html.HtmlElement]:
    """Lines to write on."""
    return [element("div", style="line") for _ in range(count)]


def formulas(article: html.HtmlElement) -> list[html.HtmlElement]:
    """The formulas under the titles of their sections, each beside lines for notes."""
    found, above = [], None
    for formula in article.xpath(".//div[contains(@class, 'math ')][not(ancestor::details)]"):
        title = formula.xpath("ancestor::section[1]/*[self::h1 or self::h2 or self::h3]")[0]
        if title is not above:
            found.append(deepcopy(title))
            found[-1].tag = "h3"
            above = title
        found.append(element("div", element("div", formula), element("div", *lines(2)), style="noted"))
    return found


def question(quiz: html.HtmlElement) -> html.HtmlElement:
    """A question of the quiz and its choices, without the reasons."""
    choices = [element("li", summary[0]) for summary in quiz.xpath("./details/summary")]
    shown = [part for part in quiz if part.tag != "details"]
    return element("div", *shown, element("ol", *choices), style="question")


def handout(name: str) -> html.HtmlElement:
    """What a chapter's handout has, as an article."""
    page = read(name).find(".//article")
    for needless in page.xpath(".//a[@class='headerlink'] | .//p[@class='page-times']"):
        needless.drop_tree()
    for link in page.xpath(".//a"):
        link.drop_tag()
    for picture in page.iter("img"):
        picture.set("src", address(name, picture.get("src"), set()))
    figures = page.xpath(".//figure[.//*[@class='schematic']]") or page.xpath(".//figure")
    opening = page.xpath(".//h1 | .//h1/following-sibling::p[1]") + figures[:1]
    minute = page.xpath(".//section[@id='in-one-minute']/*[self::h2 or self::ul or self::ol]")
    quiz = [question(quiz) for quiz in page.xpath(".//div[contains(@class, 'quiz')]")]
    noted = formulas(page)
    return element(
        "article", *opening, *[element("h2", "Formulas")] * bool(noted), *noted, *minute,
        element("h2", "Quiz"), *quiz, element("h2", "Notes"), *lines(16),
    )  # fmt: skip


def main() -> None:
    """Write the handouts of the chapters named, or of all."""
    HANDOUTS.mkdir(parents=True, exist_ok=True)
    names = sys.argv[1:] or spines()
    with chromium() as page:
        for name in names:
            write(page, dressed(name, STYLE, [handout(name)]), HANDOUTS / f"{name.split('/')[-1]}.pdf")
    print(f"{len(names)} handouts in {HANDOUTS.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
