"use strict";
// data: languages and left_out, the number of the one that is new to the model; words (language, digit); pixels (set, digit, side²),
// whole numbers up to 16; cosines (language, set, digit of the image, digit of the word); temperatures and start, the number of one.
Interactive.figure("clip_matrix", "Images of digits beside words", (panel, data, say) => {
  const { make, slider, choice, row, range, digits } = Interactive;
  const { languages, words, pixels, cosines, temperatures } = data;
  const count = words[0].length, side = Math.sqrt(pixels[0][0].length);
  const language = choice("Language", languages.map((name, i) => i === data.left_out ? `${name} (left out)` : name), update, data.left_out);
  const temperature = slider("Temperature", {
    min: 0, max: temperatures.length - 1, value: data.start, words: i => String(temperatures[i]),
  }, update);
  const set = slider("Images", { min: 0, max: pixels.length - 1, words: i => `set ${i + 1} of ${pixels.length}` }, update);

  const headings = range(count).map(() => make("span", { class: "heading", "aria-hidden": "true" }));
  const pictures = range(count).map(() => make("canvas", { width: side, height: side, "aria-hidden": "true" }));
  const places = range(count * count).map(i => make("button", { type: "button", class: i % (count + 1) ? false : "partner" }));
  const pointed = row(places, update, 0, count);
  const grid = make("div", { class: "pairs", role: "group", "aria-label": "Images and words" }, make("span"), make("span"), ...headings,
    ...pictures.flatMap((picture, i) => [make("span", { class: "number", "aria-hidden": "true" }, String(i)), picture, ...places.slice(count * i, count * (i + 1))]));
  grid.style.setProperty("--words", count);
  panel.append(language.element, temperature.element, set.element, grid, make("p", { class: "legend" },
    "Rows are images, columns are words. The stronger the colour of a cell, the more probable the word is for the image; ",
    make("span", { class: "swatch partner" }), " marks the right one; the coloured frame is around the cell described below."));

  const softmax = scores => {
    const most = Math.max(...scores), powers = scores.map(score => Math.exp((score - most) / temperatures[temperature.value]));
    const sum = powers.reduce((a, b) => a + b);
    return powers.map(power => power / sum);
  };
  const likeliest = scores => scores.indexOf(Math.max(...scores));

  function paint(canvas, values) {
    const brush = canvas.getContext("2d"), image = brush.createImageData(side, side);
    values.forEach((value, i) => image.data.set([...Array(3).fill(255 - Math.round(255 * value / 16)), 255], 4 * i));
    brush.putImageData(image, 0, 0);
  }

  function update() {
    const names = words[language.value], scores = cosines[language.value][set.value];
    const shares = scores.map(softmax);
    headings.forEach((heading, j) => { heading.textContent = names[j]; });
    pictures.forEach((picture, i) => paint(picture, pixels[set.value][i]));
    places.forEach((place, k) => {
      const i = Math.floor(k / count), j = k % count;
      place.style.setProperty("--share", `${100 * shares[i][j]}%`);
      place.setAttribute("aria-label", `image of ${i}, ${names[j]}`);
    });
    const i = Math.floor(pointed.value / count), j = pointed.value % count, best = likeliest(scores[i]);
    const right = scores.filter((line, n) => likeliest(line) === n).length;
    say(`Image of ${i}, word “${names[j]}”: cosine ${digits(scores[i][j])}, probability ${digits(shares[i][j])}. `
      + `The likeliest word for this image is “${names[best]}”, which is ${best === i ? "right" : "wrong"}. `
      + `In ${languages[language.value]}, ${right} of these ${count} images get the right word.`);
  }
  update();
});
