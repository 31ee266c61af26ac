// A formula or table that is wider than the screen scrolls on its own. Tab must reach it, so that the arrow keys can
// move it. The theme sees to code and to its own tables.
"use strict";

const widths = new ResizeObserver(entries => {
  for (const { target } of entries) {
    if (target.scrollWidth > target.clientWidth) target.tabIndex = 0;
    else target.removeAttribute("tabindex");
  }
});
document.querySelectorAll(".katex-display, .output [style*='overflow-x']").forEach(box => widths.observe(box));
