"""What a reader does in the built book: search, look up a term, open a solution, with and without a mouse."""

import pytest

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
