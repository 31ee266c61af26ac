"""A page of the book in a browser: what it asks for, what it complains about, shows and breaks."""

from pathlib import Path
from urllib.parse import urlsplit

HERE = Path(__file__).parent
SCRIPTS = [(HERE / name).read_text(encoding="utf-8") for name in ("axe/axe.min.js", "audit.js")]
WIDTHS = {
    "wide": 1280,
    "at 200% zoom": 640,
    "phone": 320,
}  # CSS pixels; a wide screen at 200% has half of them
# True: only the rules about colours. A wide screen adds the sidebars, which one template makes for all pages.
CONTENT = [("phone", "dark", False), ("phone", "light", True)]
WAYS = [*CONTENT, ("wide", "dark", True), ("wide", "light", False)]
# Else colours are read while they change.
STILL = "*, *::before, *::after { animation: none !important; transition: none !important }"
OBSERVE = """
window.shift = 0;
window.painted = 0;
const observe = (type, see) =>
  new PerformanceObserver(list => list.getEntries().forEach(see)).observe({ type, buffered: true });
observe("layout-shift", entry => { window.shift += entry.value; });
observe("largest-contentful-paint", entry => { window.painted = entry.startTime; });
"""
PAINTED = "performance.getEntriesByName('first-contentful-paint').length > 0 && window.painted > 0"
SPEED = """
() => ({
  first: performance.getEntriesByName("first-contentful-paint")[0].startTime,
  largest: window.painted,
  shift: window.shift,
})
"""


class Visit:
    """One page, loaded once from the site at ``address``."""

    def __init__(self, browser, address, name):
        self.complaints, self.outside, self.loaded = [], [], set()
        self.address = address
        self.context = browser.new_context(viewport={"width": WIDTHS["wide"], "height": 800})
        self.page = self.context.new_page()
        self.page.add_init_script(OBSERVE)
        self.page.on("console", self.listen)
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("response", self.receive)
        self.page.route(lambda url: not url.startswith((address, "data:")), self.refuse)
        self.page.goto(f"{address}{name}.html", wait_until="load")
        self.page.evaluate("document.fonts.ready.then(() => true)")
        self.page.wait_for_function(PAINTED)  # a small page may be loaded before it is painted

    def listen(self, message):
        if message.type in ("error", "warning"):
            self.complaints.append(message.text)

    def receive(self, response):
        self.loaded.add(urlsplit(response.url).path.removeprefix(urlsplit(self.address).path))
        if response.status >= 400:
            self.complaints.append(f"{response.status} {response.url}")

    def refuse(self, route):
        self.outside.append(route.request.url)
        route.abort()

    def audit(self, ways=WAYS):
        """Look at the page at every width and in both themes; this takes the page apart and closes it."""
        for script in SCRIPTS:
            self.page.evaluate(script)
        self.page.add_style_tag(content=STILL)
        self.speed = self.page.evaluate(SPEED)
        self.shown = self.page.evaluate("audit.shown()")
        self.page.evaluate("audit.unfold()")
        self.wide, self.violations = {}, {}
        for name, width in WIDTHS.items():
            self.page.set_viewport_size({"width": width, "height": 800})
            self.wide[name] = self.page.evaluate("audit.wide()")
        for _ in range(10):  # the theme looks for what scrolls some time after a change of width
            self.unreachable, self.unseen = self.page.evaluate("[audit.unreachable(), audit.unseen()]")
            if not self.unreachable + self.unseen:
                break
            self.page.wait_for_timeout(500)
        self.page.evaluate("audit.simplify()")
        for width, theme, only_colours in ways:
            self.page.set_viewport_size({"width": WIDTHS[width], "height": 800})
            self.page.evaluate("theme => { document.documentElement.dataset.theme = theme }", theme)
            found = self.page.evaluate("only => audit.violations(only)", only_colours)
            self.violations[f"{width}, {theme}"] = found
        self.context.close()
        return self

    def measure(self):
        """How fast the page was shown; this closes it."""
        speed = self.page.evaluate(SPEED)
        self.context.close()
        return speed
