"""What a reader does in the built book, with and without a mouse: search, look up, fold, enlarge, print."""

import pytest

from .visit import SCRIPTS

PAGE = "lectures/10_bert_tasks"
SHOWN = "element => element.checkVisibility()"
FILTER = "image => getComputedStyle(image).filter"
SHARE = "document.querySelector('.reading-progress').getBoundingClientRect().width / window.innerWidth"
PAPER = 673  # CSS pixels between the margins of A4

SEARCHES = {  # what is looked for, and where it must be found among the first results
    "attention_weights": "layers.html#pioneers.layers.attention_weights",
    "MultiHeadAttention": "layers.html#pioneers.layers.MultiHeadAttention",
    "softmax": "lectures/02_self_attention.html",
    "RoPE": "lectures/04_positions.html",
    "d_model": "book/notation.html",
    "attention": "book/glossary.html#term-attention",
    "self-attention": "lectures/02_self_attention.html",
    "label smoothing": "book/glossary.html",
}


@pytest.fixture
def page(browser):
    page = browser.new_page(viewport={"width": 1280, "height": 800})
    yield page
    page.close()


@pytest.mark.parametrize("words", SEARCHES)
def test_the_search_finds(page, address, words):
    page.goto(f"{address}search.html?q={words}")
    page.wait_for_selector("#search-results p.search-summary:has-text('found')")
    found = page.eval_on_selector_all("#search-results li > a", "links => links.map(link => link.href)")
    assert any(SEARCHES[words] in link for link in found[:8]), found[:8]


def test_a_hit_leads_to_its_section_and_shows_the_sentence(page, address):
    page.goto(f"{address}search.html?q=label smoothing")
    hit = page.locator("#search-results li", has=page.locator("a[href*='lectures/06_transformer_deeper']"))
    assert hit.count() == 1, "a page is listed once"
    hit.locator("a[href*='#label-smoothing']").wait_for()
    assert "> Label smoothing" in hit.inner_text()
    sentence = hit.locator("p.context").inner_text()
    assert "smoothing" in sentence and sentence[0].isupper() and sentence[-1] in ".:?"
    glossary = page.locator("#search-results li", has=page.locator("a[href*='glossary.html']"))
    assert glossary.all_inner_texts()[0].startswith("Glossary > label smoothing")
    field = page.locator(".bd-search-container input")
    icon = page.locator(".bd-search-container .bd-search i").bounding_box()
    start = field.evaluate("field => parseFloat(getComputedStyle(field).paddingLeft)")
    assert icon["x"] + icon["width"] <= field.bounding_box()["x"] + start, "the glass is on the query"
    hit.locator("a").first.click()
    page.wait_for_url("**/06_transformer_deeper.html#label-smoothing*")
    heading = page.locator("#label-smoothing-and-the-loss-that-cannot-be-beaten > h2")
    assert 0 <= heading.bounding_box()["y"] < 400


def test_sections_fold(page, address):
    page.goto(f"{address}{PAGE}.html")
    first, second = page.locator("article h2 > button").all()[:2]
    inside = [page.locator("article > section > section").nth(i).locator("p").first for i in (0, 1)]
    assert first.get_attribute("aria-expanded") == "true" and inside[0].evaluate(SHOWN)
    first.click()
    second.focus()
    page.keyboard.press("Enter")
    assert first.get_attribute("aria-expanded") == second.get_attribute("aria-expanded") == "false"
    assert not any(paragraph.evaluate(SHOWN) for paragraph in inside)
    page.emulate_media(media="print")
    assert all(paragraph.evaluate(SHOWN) for paragraph in inside)
    page.emulate_media(media="screen")
    page.locator("nav.page-toc a").nth(1).click()  # a link to the second section
    assert inside[1].evaluate(SHOWN) and not inside[0].evaluate(SHOWN)
    page.locator(".fold-body[hidden=until-found]").evaluate("b => b.dispatchEvent(new Event('beforematch'))")
    assert first.get_attribute("aria-expanded") == "true" and inside[0].evaluate(SHOWN)


def test_a_figure_enlarges(page, address):
    page.set_viewport_size({"width": 360, "height": 740})
    page.emulate_media(color_scheme="dark")
    page.goto(f"{address}{PAGE}.html")
    for script in SCRIPTS:
        page.evaluate(script)
    with_picture = page.locator("article figure:has(> img)").first  # the very first is a drawing
    figure, button = (with_picture.locator(f"> {of}") for of in ("img", ".enlarge"))
    dialog = page.get_by_role("dialog", name="Enlarged figure")
    button.focus()
    page.keyboard.press("Enter")
    large, small = dialog.locator("img"), figure.bounding_box()
    assert large.bounding_box()["width"] == large.evaluate("image => image.naturalWidth") > small["width"]
    assert large.evaluate(FILTER) == figure.evaluate(FILTER) != "none"
    page.evaluate("audit.simplify()")
    assert not page.evaluate("audit.violations(false)")
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowRight")
    page.wait_for_function("document.activeElement.scrollLeft > 0")
    page.keyboard.press("Escape")
    dialog.wait_for(state="detached")
    assert button.evaluate("button => button === document.activeElement")
    page.set_viewport_size({"width": 1280, "height": 800})
    figure.click()
    assert large.bounding_box()["width"] > figure.bounding_box()["width"] * 1.3
    dialog.get_by_role("button", name="Close").click()
    dialog.wait_for(state="detached")


def test_paper_cuts_nothing_off_and_is_light(page, address):
    page.emulate_media(color_scheme="dark")
    page.goto(f"{address}lectures/05_block.html")
    page.evaluate(SCRIPTS[1])
    page.evaluate("audit.unfold()")
    page.set_viewport_size({"width": PAPER, "height": 1000})
    assert page.evaluate("audit.clipped()")
    page.emulate_media(media="print")
    assert page.evaluate("audit.clipped()") == []
    themes = """() => ["beforeprint", "afterprint"].map(name => {
      window.dispatchEvent(new Event(name));
      return document.documentElement.dataset.theme;
    })"""
    assert page.evaluate(themes) == ["light", "dark"]


def test_progress_is_shown_and_pages_that_were_read_are_ticked(page, address):
    page.goto(f"{address}{PAGE}.html")
    ticked = page.locator(".bd-docs-nav a.read")
    assert page.evaluate(SHARE) == 0 and ticked.count() == 0
    page.evaluate("window.scrollTo(0, document.body.scrollHeight / 2)")
    page.wait_for_function(f"{SHARE} > 0.3")
    assert page.evaluate(SHARE) < 0.7 and ticked.count() == 0
    page.evaluate("window.scrollTo(0, document.body.scrollHeight)")
    ticked.wait_for()
    page.goto(f"{address}book/notation.html")
    assert ticked.evaluate_all("links => links.map(link => link.href)") == [f"{address}{PAGE}.html"]


def test_a_missing_page_leads_back(page, address):
    page.goto(f"{address}lectures/deep/er/nothing.html")
    assert page.title().startswith("No such page")
    page.locator("base").wait_for(state="attached")
    page.get_by_role("searchbox").fill("softmax")
    page.keyboard.press("Enter")
    page.wait_for_url(f"{address}search.html?q=softmax")
    page.go_back()
    page.locator("base").wait_for(state="attached")
    page.get_by_role("link").click()
    page.wait_for_url(f"{address}book/index.html")


def test_the_theme_is_that_of_the_reader(page, address):
    for theme in ("dark", "light"):
        page.emulate_media(color_scheme=theme)
        page.goto(f"{address}book/index.html")
        assert page.locator("html").get_attribute("data-theme") == theme


def test_the_search_opens_by_keyboard(page, address):
    page.goto(f"{address}lectures/02_self_attention.html")
    page.keyboard.press("Control+k")
    page.keyboard.type("softmax")
    page.keyboard.press("Enter")
    page.wait_for_url("**/search.html?q=softmax")
    assert page.locator("#search-results").is_visible()


def test_the_first_stop_leads_to_the_text(page, address):
    page.goto(f"{address}lectures/02_self_attention.html")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert page.url.endswith("#main-content")


def test_a_solution_opens_by_keyboard(page, address):
    page.goto(f"{address}lectures/02_self_attention_deeper.html")
    box = page.locator("article details.admonition").first
    assert box.get_attribute("open") is None
    box.locator("summary").first.focus()
    page.keyboard.press("Enter")
    assert box.get_attribute("open") is not None


@pytest.fixture
def term(page, address):
    """A page's first linked term, in view, and the box of its definition."""
    page.goto(f"{address}lectures/02_self_attention.html")
    term = page.locator("article a.internal[href*='#term-']").first
    term.scroll_into_view_if_needed()
    box = page.get_by_role("tooltip")
    return term, box


def test_a_term_is_explained_under_the_pointer(page, term):
    link, box = term
    link.hover()
    box.wait_for()
    assert len(box.inner_text()) > 20
    box.hover()
    page.wait_for_timeout(400)
    assert box.is_visible()  # the pointer may rest on the definition
    page.keyboard.press("Escape")
    assert box.count() == 0
    link.hover()
    box.wait_for()
    page.mouse.move(0, 0)
    box.wait_for(state="hidden")


def test_a_term_is_explained_to_the_keyboard(page, term):
    link, box = term
    page.keyboard.press("Tab")  # from now on the focus is one of the keyboard
    link.focus()
    box.wait_for()
    assert link.get_attribute("aria-describedby") == box.get_attribute("id")
    page.keyboard.press("Escape")
    assert box.count() == 0
    assert link.evaluate("link => link === document.activeElement")


def test_the_address_of_the_site_is_its_first_page(page, address):
    page.goto(address)
    page.wait_for_url("**/course/book/index.html")
    assert page.locator("article h1").inner_text().startswith("Pioneering Transformers")
