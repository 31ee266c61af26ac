"use strict";
// data: side, patches in a row; images, each: pixels (rows of greys, 0 … 1), label, layers (L, T, T), rollout (T, T).
// Token 0 is the class token; patches are counted from 0, row by row.
Interactive.figure("rollout", "Attention and rollout over an image", (panel, data, say) => {
  const { make, drawing, choice, row, range } = Interactive;
  const { side, images } = data;
  const SIZE = 200, PATCH = SIZE / side;
  const layers = images[0].layers.length;
  const image = choice("Digit", images.map(one => `${one.label}`), update);
  const map = choice("Map", [...range(layers).map(i => `layer ${i + 1}`), "rollout"], update, layers);
  const whole = make("button", { type: "button", class: "whole" }, "class token");
  const patches = range(side * side).map(i => make("button", {
    type: "button", "aria-label": `patch ${i}`,
  }));
  const query = row([...patches, whole], update, side * side, side);
  const picture = make("div", { class: "under" });
  const list = make("ol", { class: "keys-list numbers" });
  const grid = make("div", { class: "patches" }, picture, ...patches);
  grid.style.setProperty("--side", side);
  panel.append(image.element, map.element, make("div", { class: "control" }, make("span", {}, "Whose view? Point at a patch, or take the "), whole),
    make("div", { class: "beside" }, grid, make("div", {}, make("p", { class: "legend" }, "Largest shares"), list)));

  const place = t => (t === 0 ? "the class token" : `patch ${t - 1}`);

  function draw(one, shares) {
    const n = one.pixels.length, cell = SIZE / n;
    const pixels = one.pixels.flatMap((line, y) => line.map((grey, x) => make("rect", {
      x: x * cell, y: y * cell, width: cell + 0.5, height: cell + 0.5, fill: `rgb(${range(3).map(() => Math.round(255 - 140 * grey)).join()})`,
    })));
    const top = Math.max(...shares.slice(1));
    const squares = shares.slice(1).map((share, i) => {
      const width = 0.9 * PATCH * Math.sqrt(share / top);
      const [x, y] = [PATCH * (i % side + 0.5), PATCH * (Math.floor(i / side) + 0.5)];
      return make("rect", { class: "share", x: x - width / 2, y: y - width / 2, width, height: width });
    });
    return drawing(SIZE, SIZE, ...pixels, ...squares);
  }

  function update() {
    const one = images[image.value];
    const table = map.value < layers ? one.layers[map.value] : one.rollout;
    const token = query.value === side * side ? 0 : query.value + 1;
    const shares = table[token];
    picture.replaceChildren(draw(one, shares));
    const order = range(shares.length).sort((a, b) => shares[b] - shares[a]);
    list.replaceChildren(...order.slice(0, 5).map(t => make("li", {}, `${place(t)}: ${(100 * shares[t]).toFixed(1)}%`)));
    const name = map.value < layers ? `attention of layer ${map.value + 1}, mean of the heads` : `rollout through ${layers} layers`;
    const percent = t => `${(100 * shares[t]).toFixed(0)}%`;
    say(`Digit ${one.label}, ${name}. The view of ${place(token)}: ${percent(token)} is its own, `
      + `${token ? `${percent(0)} the class token's, ` : ""}and of the other patches ${place(order.find(t => t > 0 && t !== token))} has most.`);
  }
  update();
});
