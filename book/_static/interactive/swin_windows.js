"use strict";
// data: side, patches in a row; start, the patch pointed at; regions (shifts, side²): patches with one number see each other.
Interactive.figure("swin_windows", "Windows over a grid of patches", (panel, data, say) => {
  const { make, slider, row, range } = Interactive;
  const { side, regions } = data;
  const shift = slider("Shift", { min: 0, max: regions.length - 1, value: Math.floor(regions.length / 2) }, update);
  const patches = range(side * side).map(i => make("button", {
    type: "button", "aria-label": `row ${Math.floor(i / side)}, column ${i % side}`,
  }));
  const pointed = row(patches, update, data.start, side);
  const grid = make("div", { class: "tiles", role: "group", "aria-label": "Patches" }, ...patches);
  grid.style.setProperty("--side", side);
  panel.append(shift.element, grid, make("p", { class: "legend" },
    make("span", { class: "swatch now" }), " seen in this layer, ",
    make("span", { class: "swatch before" }), " seen through the layer before, whose windows are not shifted."));

  /** The numbers of the patches that see each other with any of `some`. */
  const together = (region, some) => {
    const numbers = new Set(some.map(i => region[i]));
    return range(side * side).filter(i => numbers.has(region[i]));
  };

  function update() {
    const region = regions[shift.value];
    const now = together(region, [pointed.value]);
    const before = together(regions[0], now);
    patches.forEach((patch, i) => {
      const edges = [[1, "right", i % side < side - 1], [side, "below", i < side * (side - 1)]];
      const cut = edges.filter(([step, , inside]) => inside && region[i] !== region[i + step]).map(([, name]) => `cut-${name}`);
      patch.className = [now.includes(i) ? "now" : before.includes(i) ? "before" : "", ...cut].join(" ").trim();
    });
    say(`Shift ${shift.value}: the patch in row ${Math.floor(pointed.value / side)}, column ${pointed.value % side} sees `
      + `${now.length} patches in this layer and ${before.length} through both layers.`);
  }
  update();
});
