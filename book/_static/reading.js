"use strict";
// What a page offers its reader: sections that fold, figures that enlarge, boxes that scroll by keyboard, and how
// far the reader has come. Without scripts the page is whole, and stands still.
{
  const article = document.querySelector("article");
  const make = (tag, attributes, ...children) => {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    element.append(...children);
    return element;
  };

  // Sections fold at their heading. What is folded is found by the browser's search, which unfolds it.
  const fold = heading => {
    const body = make("div", { class: "fold-body" });
    const button = make("button", { type: "button", class: "fold", "aria-expanded": "true" });
    const show = open => {
      button.setAttribute("aria-expanded", open);
      if (open) body.removeAttribute("hidden");
      else body.setAttribute("hidden", "until-found");
    };
    while (heading.nextSibling) body.append(heading.nextSibling);
    heading.after(body);
    const link = heading.querySelector(".headerlink");
    button.append(...[...heading.childNodes].filter(node => node !== link));
    heading.prepend(button);
    button.addEventListener("click", () => show(button.getAttribute("aria-expanded") === "false"));
    body.addEventListener("beforematch", () => show(true));
    return { section: heading.parentElement, show };
  };
  const folds = [...document.querySelectorAll("article > section > section > h2")].map(fold);

  // A link into a folded section unfolds it; the others stay as they are.
  document.addEventListener("click", event => {
    const link = event.target.closest?.("a[href*='#']");
    if (link?.pathname !== location.pathname) return;
    const goal = document.getElementById(decodeURIComponent(link.hash.slice(1)));
    for (const { section, show } of folds) if (section.contains(goal)) show(true);
  });

  // A figure opens at its full size, beside itself in the document, so that it looks the same there.
  const enlarge = (figure, button) => {
    const { width, height } = figure.getBoundingClientRect();
    const copy = figure.cloneNode(true);
    const own = figure.naturalWidth || figure.viewBox?.baseVal?.width || width;
    const close = make("button", { type: "button", class: "close", "aria-label": "Close" }, "×");
    const room = make("div", { class: "room", tabindex: "0", role: "group", "aria-label": "Figure, scrolls" }, copy);
    const dialog = make("dialog", { class: "enlarged", "aria-label": "Enlarged figure", closedby: "any" }, close, room);
    copy.removeAttribute("id");
    copy.style.setProperty("--own", `${own}px`);
    copy.style.setProperty("--ratio", width / height);
    close.addEventListener("click", () => dialog.close());
    dialog.addEventListener("close", () => dialog.remove());
    dialog.addEventListener("keydown", event => event.stopPropagation()); // Sphinx would take Escape for itself
    figure.after(dialog);
    button.focus();
    dialog.showModal();
  };
  for (const figure of document.querySelectorAll("article :is(figure, .cell_output) :is(img, svg)")) {
    if (figure.closest(".interactive, a, .katex, svg svg")) continue;
    const button = make("button", { type: "button", class: "enlarge", "aria-label": "Enlarge the figure" });
    button.addEventListener("click", () => enlarge(figure, button));
    figure.addEventListener("click", () => enlarge(figure, button));
    figure.classList.add("enlargeable");
    figure.parentElement.classList.add("framed");
    figure.after(button);
  }

  // What is wider than the page scrolls on its own, and fades where there is more. Tab must reach it, so that the arrow
  // keys can move it. Interactive figures draw their boxes later.
  const look = ({ target: box }) => {
    if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
    else box.removeAttribute("tabindex");
    box.classList.toggle("more", box.scrollLeft + box.clientWidth < box.scrollWidth - 1);
    box.classList.toggle("earlier", box.scrollLeft > 1);
  };
  const widths = new ResizeObserver(entries => entries.forEach(look));
  const wide = "pre, .katex-display, .pst-scrollable-table-container, .output [style*='overflow-x'], .wide-drawing";
  const watch = () => {
    for (const box of document.querySelectorAll(`article :is(${wide})`)) {
      widths.observe(box);
      box.addEventListener("scroll", look, { passive: true });
    }
  };
  watch();
  window.addEventListener("interactive", watch);

  // On paper everything is light.
  const page = document.documentElement.dataset;
  let theme;
  window.addEventListener("beforeprint", () => { theme = page.theme; page.theme = "light"; });
  window.addEventListener("afterprint", () => { page.theme = theme; });

  // How far the reader has come on this page, and which pages have been read to the end.
  const bar = make("div", { class: "reading-progress", "aria-hidden": "true" });
  const root = new URL(document.documentElement.dataset.content_root, location.href);
  const place = link => new URL(link.href, location.href).pathname.slice(root.pathname.length);
  const read = new Set(JSON.parse(localStorage.getItem("pages-read") ?? "[]"));
  const tick = () => {
    for (const link of document.querySelectorAll(".bd-docs-nav a.internal")) link.classList.toggle("read", read.has(place(link)));
  };
  const move = () => {
    const { top, height } = article.getBoundingClientRect();
    const share = Math.min(1, Math.max(0, -top / (height - window.innerHeight)));
    bar.style.transform = `scaleX(${share || 0})`;
    if (share < 1 || !window.scrollY) return;
    read.add(place(location));
    localStorage.setItem("pages-read", JSON.stringify([...read]));
    tick();
  };
  if (article && folds.length) {
    document.body.append(bar);
    window.addEventListener("scroll", move, { passive: true });
  }
  tick();
}
