"use strict";
// data: photos, two data URLs; names, what they show; side, their width and height in pixels; patch, the side of a patch;
// start, the angle and the erased square at first, if they are not 0.
Interactive.figure("augmentations", "A photograph, augmented", (panel, data, say) => {
  const { make, slider, check, range } = Interactive;
  const { side, patch, names, start = {} } = data;
  const CHANGED = 10; // grey levels of 255, the mean over a patch's pixels and channels
  const percent = n => `${n} %`;
  const right = slider("Shift to the right", { min: -side / 2, max: side / 2, value: 0, words: n => `${n} pixels` }, update);
  const angle = slider("Turn", { min: -180, max: 180, value: start.angle ?? 0, words: n => `${n}°` }, update);
  const zoom = slider("Size", { min: 50, max: 200, value: 100, words: percent }, update);
  const hole = slider("Erased square", { min: 0, max: side / 2, value: start.hole ?? 0, words: n => `${n} pixels` }, update);
  const share = slider(`Mixed-in ${names[1]}`, { min: 0, max: 100, value: 0, words: percent }, update);
  const mirror = check("Mirrored, left to right", false, update);
  const canvas = make("canvas", { width: side, height: side, role: "img", "aria-label": "The augmented photograph" });
  const rows = make("tbody");
  const controls = [right, angle, zoom, hole, share, mirror].map(control => control.element);
  panel.append(...controls, make("div", { class: "beside" }, canvas, make("table", { class: "values" }, rows)));
  const pen = canvas.getContext("2d", { willReadFrequently: true });
  const images = data.photos.map(src => make("img", { src, alt: "", onload: () => ready() }));
  let original = null;

  function draw() {
    pen.setTransform(1, 0, 0, 1, 0, 0);
    pen.globalAlpha = 1;
    pen.fillStyle = "#000";
    pen.fillRect(0, 0, side, side);
    pen.translate(side / 2 + right.value, side / 2);
    pen.rotate(angle.value * Math.PI / 180);
    pen.scale((mirror.value ? -1 : 1) * zoom.value / 100, zoom.value / 100);
    pen.drawImage(images[0], -side / 2, -side / 2, side, side);
    pen.setTransform(1, 0, 0, 1, 0, 0);
    pen.globalAlpha = share.value / 100;
    pen.drawImage(images[1], 0, 0, side, side);
    pen.globalAlpha = 1;
    pen.fillStyle = "#808080";
    pen.fillRect(side / 4, side / 4, hole.value, hole.value);
    return pen.getImageData(0, 0, side, side).data;
  }

  /** How many patches differ from those of the original. */
  function changed(pixels) {
    const columns = Math.floor(side / patch), sums = Array(columns * columns).fill(0);
    range(side * side).forEach(i => {
      const n = Math.floor(i / side / patch) * columns + Math.floor(i % side / patch);
      for (let c = 0; c < 3; c++) sums[n] += Math.abs(pixels[4 * i + c] - original[4 * i + c]);
    });
    return sums.filter(sum => sum > CHANGED * 3 * patch * patch).length;
  }

  function ready() {
    if (original || !images.every(image => image.complete)) return;
    pen.drawImage(images[0], 0, 0, side, side);
    original = new Uint8ClampedArray(pen.getImageData(0, 0, side, side).data);
    update();
  }

  function update() {
    if (!original) return;
    const count = changed(draw()), all = Math.floor(side / patch) ** 2;
    const label = [1 - share.value / 100, share.value / 100].map(x => x.toFixed(2));
    const lines = [...names.map((name, i) => [`Label: ${name}`, label[i]]), ["Patches that changed", `${count} of ${all}`]];
    rows.replaceChildren(...lines.map(([text, value]) => make("tr", {},
      make("th", { scope: "row" }, text), make("td", { class: "numbers" }, value))));
    say(`${count} of ${all} patches have changed. The label is ${names[0]} ${label[0]}, ${names[1]} ${label[1]}.`);
  }
  images.forEach(image => { if (image.complete) ready(); });
});
