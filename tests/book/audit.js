// What the tests ask of a page, in the browser.
globalThis.audit = {
  // The page's words without code and typeset formulas, and how many formulas there are.
  shown() {
    const copy = document.querySelector("main").cloneNode(true);
    copy.querySelectorAll("pre, code, script, style, .katex").forEach(element => element.remove());
    return {
      text: copy.textContent,
      typeset: document.querySelectorAll("main .katex").length,
      mistyped: document.querySelectorAll(".katex-error").length,
    };
  },

  // Open solutions, answers and folded cells, to be judged with the rest.
  unfold() {
    document.querySelectorAll("details").forEach(box => { box.open = true; });
  },

  // What makes the page wider than the screen; nothing where it is not.
  wide() {
    const screen = document.documentElement.clientWidth;
    if (document.documentElement.scrollWidth <= screen) return [];
    const cut = element => element !== document.body && getComputedStyle(element).overflowX !== "visible";
    const inside = element => element && (cut(element) || inside(element.parentElement));
    return [...document.querySelectorAll("body *")]
      .filter(element => element.getBoundingClientRect().right > screen + 1 && !inside(element.parentElement))
      .map(element => element.outerHTML.slice(0, 200))
      .concat(`page of ${document.documentElement.scrollWidth}px`);
  },

  // What can be scrolled. An element without content has nothing to scroll to.
  scrolling() {
    const scrolls = element =>
      element.scrollWidth > element.clientWidth + 1 && /auto|scroll/.test(getComputedStyle(element).overflowX);
    return [...document.querySelectorAll("main *")].filter(element => element.clientWidth && scrolls(element));
  },

  // What can be scrolled but not reached by Tab.
  unreachable() {
    return this.scrolling().filter(element => element.tabIndex < 0)
      .filter(element => !element.querySelector("a[href], button, input, summary, [tabindex='0']"))
      .map(element => element.outerHTML.slice(0, 200));
  },

  // What can be scrolled and looks as if it could not: it does not fade.
  unseen() {
    return this.scrolling().filter(element => getComputedStyle(element).maskImage === "none")
      .map(element => element.outerHTML.slice(0, 200));
  },

  // What paper would cut off.
  clipped() {
    const paper = document.documentElement.clientWidth;
    const cut = element => element.getBoundingClientRect().right > paper + 1
      || (element.scrollWidth > element.clientWidth + 1 && getComputedStyle(element).overflowX !== "visible");
    return [...document.querySelectorAll("article :is(pre, table, img, svg, .katex-display, .katex-base)")]
      .filter(element => element.clientWidth && cut(element))
      .map(element => element.outerHTML.slice(0, 200));
  },

  // Formulas, code and signatures are thousands of elements that look alike, and axe asks each of them everything. It
  // is left one word of each formula, and of code one piece of each colour; a word, because axe judges no single letters.
  simplify() {
    const seen = new Set();
    const pieces = "pre span, .sig :is(em, span), code span";
    const alike = [...document.querySelectorAll(pieces)].filter(piece => {
      const { color, backgroundColor, fontSize } = getComputedStyle(piece);
      const look = [color, backgroundColor, fontSize, piece.closest("div, dt, code")?.className].join();
      return seen.has(look) || !seen.add(look);
    });
    for (const piece of alike) piece.replaceWith(...piece.childNodes);
    for (const piece of document.querySelectorAll(pieces)) piece.append("code");
    for (const formula of document.querySelectorAll(".katex")) formula.replaceChildren("formula");
  },

  // The rules of WCAG 2.2 AA that the page breaks, each with the element that breaks it; or only those about colours.
  async violations(onlyColours) {
    const all = { type: "tag", values: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"] };
    const colours = ["color-contrast", "link-in-text-block"];
    const found = await axe.run({ runOnly: onlyColours ? colours : all, resultTypes: ["violations"] });
    return found.violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html.slice(0, 200)}`));
  },
};
