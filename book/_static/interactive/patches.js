"use strict";
// data: photo, a data URL; side, its width and height in pixels; channels; sizes, of patches.
Interactive.figure("patches", "A photograph in patches", (panel, data, say) => {
  const { make, slider, choice, range } = Interactive;
  const { side, channels, sizes } = data;
  const size = choice("Patch size", sizes.map(String), () => { token.max = number() - 1; update(); }, sizes.indexOf(16));
  const token = slider("Token", { min: 0, max: 195, value: 0, words: n => `${n}` }, () => update());
  const photo = make("canvas", { width: 2 * side, height: 2 * side, role: "img", "aria-label": "The photograph, cut into patches" });
  const one = make("canvas", { width: 96, height: 96, role: "img", "aria-label": "The chosen patch, enlarged" });
  const numbers = make("tbody");
  panel.append(size.element, token.element, make("div", { class: "beside" }, photo,
    make("div", {}, one, make("table", { class: "values" }, numbers))));
  const image = make("img", { src: data.photo, alt: "", onload: () => update() });

  const patch = () => sizes[size.value];
  const number = () => (side / patch()) ** 2;

  function draw(chosen) {
    const P = patch(), columns = side / P, cell = 2 * P, gap = P > 8 ? 3 : 2;
    const pen = photo.getContext("2d");
    pen.clearRect(0, 0, 2 * side, 2 * side);
    range(number()).forEach(n => {
      const [x, y] = [n % columns, Math.floor(n / columns)];
      pen.drawImage(image, x * P, y * P, P, P, x * cell, y * cell, cell - gap, cell - gap);
    });
    const [x, y] = [chosen % columns, Math.floor(chosen / columns)];
    pen.lineWidth = 6;
    pen.strokeStyle = "#fff";
    pen.strokeRect(x * cell - 1, y * cell - 1, cell, cell);
    pen.lineWidth = 3;
    pen.strokeStyle = "#b93c09";
    pen.strokeRect(x * cell - 1, y * cell - 1, cell, cell);
    const large = one.getContext("2d");
    large.imageSmoothingEnabled = false;
    large.drawImage(image, x * P, y * P, P, P, 0, 0, 96, 96);
  }

  function update() {
    const P = patch(), N = number(), n = token.value, columns = side / P;
    if (image.complete) draw(n);
    const rows = [["Tokens", N], ["Numbers in one", channels * P * P], ["Scores of one head", (N + 1) ** 2]];
    numbers.replaceChildren(...rows.map(([text, value]) => make("tr", {},
      make("th", { scope: "row" }, text), make("td", { class: "numbers" }, value.toLocaleString("en")))));
    say(`Patches of ${P} × ${P} pixels: ${N.toLocaleString("en")} tokens of ${(channels * P * P).toLocaleString("en")} numbers. Token ${n} is the `
      + `patch in row ${Math.floor(n / columns)}, column ${n % columns}, counted from 0. With the class token each head compares ${((N + 1) ** 2).toLocaleString("en")} pairs.`);
  }
  update();
});
