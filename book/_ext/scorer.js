// What Sphinx's search does not do by itself.

// Sphinx ranks every page that has a word alike, and then by the alphabet. Here explanations come before uses, and
// chapters in their order.
var Scorer = {
  score([page, , , , score]) {
    if (page === "book/notation") return score + 4;
    if (page.startsWith("lectures/")) return score + 3 - Number(page.match(/\d+/)) / 100;
    return page.startsWith("labs/") ? score : score + 1;
  },

  // Sphinx's own points.
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};

// A page of which a place has been found is not listed once more as a whole.
const searchPages = Search._performSearch;
Search._performSearch = (...query) => {
  const results = searchPages(...query);
  const placed = new Set(results.filter(([, , anchor]) => anchor).map(([page]) => page));
  return results.filter(([page, , anchor]) => anchor || !placed.has(page));
};

// A hit leads to the section, or the term of the glossary, that says most about the words. It shows the first sentence
// that has most of them, rather one of the text than a line of code.
Search.makeSearchSummary = (html, stems, anchor) => {
  const page = new DOMParser().parseFromString(html, "text/html").querySelector("article");
  page.querySelectorAll(".headerlink, .section-number, .chapter, .viewcode-link, script, style, .katex-html, annotation")
    .forEach(element => element.remove());
  const matches = text => [...stems].filter(stem => text.toLowerCase().includes(stem)).length;
  const best = (list, points) => {
    const all = list.map(points);
    return list[all.indexOf(Math.max(...all))];
  };

  const heading = place => (place.matches("dt") ? place : place.querySelector(":scope > :is(h1, h2, h3, h4)"))?.textContent.trim() ?? "";
  const body = place => (place.matches("dt") ? body(place.nextElementSibling) : place); // several terms may share one
  const blocks = place => [...place.children]
    .filter(child => !child.matches("section"))
    .flatMap(child => (child.matches("p, pre, li:not(:has(p)), td, figcaption") ? [child] : blocks(child)));
  const sentences = place => blocks(body(place)).flatMap(block => {
    const code = block.matches("pre");
    return block.textContent.split(code ? /\n/ : /(?<=[.!?:])\s+(?=\p{Lu})/u)
      .map(part => ({ text: part.replace(/\s+/g, " ").trim(), points: 2 * matches(part) - code }));
  });

  const target = anchor && page.ownerDocument.getElementById(decodeURIComponent(anchor.slice(1)));
  const place = target || best([...page.querySelectorAll("section[id], .glossary dt[id]")], found => {
    const points = sentences(found).map(part => part.points);
    return 100 * matches(heading(found)) + 10 * Math.max(0, ...points) + points.filter(x => x > 0).length / 100;
  });
  const summary = document.createElement("p");
  summary.className = "context";
  summary.textContent = best(sentences(place), part => part.points)?.text ?? "";
  queueMicrotask(() => { // by now the summary stands below its link
    const link = summary.parentElement.querySelector("a");
    if (!anchor && !place.matches("article > section")) link.hash = place.id;
    if (!link.textContent.includes(heading(place))) link.append(` > ${heading(place)}`);
  });
  return summary;
};
