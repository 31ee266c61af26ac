"use strict";
// What the interactive figures share: elements, controls, and how a figure takes the place of its picture.
const Interactive = (() => {
  const SVG = "http://www.w3.org/2000/svg";
  const DRAWN = new Set(["svg", "g", "line", "path", "circle", "rect", "text", "polyline", "title"]);
  const home = document.currentScript.src;
  const figures = new Map(), scripts = new Map();
  let count = 0;
  const fresh = () => `interactive-${++count}`;

  /** An HTML or SVG element. Attributes that are false or missing are left out; `onclick` and the like listen. */
  function make(tag, attributes = {}, ...children) {
    const element = DRAWN.has(tag) ? document.createElementNS(SVG, tag) : document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
      else if (value !== false && value !== undefined) element.setAttribute(name, value === true ? "" : value);
    }
    element.append(...children);
    return element;
  }

  /** An SVG picture. It is hidden from screen readers: the numbers and the sentence beside it say the same. */
  function drawing(width, height, ...children) {
    return make("svg", { viewBox: `0 0 ${width} ${height}`, width, height, "aria-hidden": "true" }, ...children);
  }

  /** A slider with its label and its value in words. */
  function slider(label, { min, max, step = 1, value = min, words = String }, react) {
    const id = fresh();
    const shown = make("output", { for: id });
    const input = make("input", { type: "range", id, min, max, step, value });
    const show = () => {
      shown.textContent = words(input.valueAsNumber);
      input.setAttribute("aria-valuetext", shown.textContent);
    };
    const change = () => { show(); react(); };
    input.addEventListener("input", change);
    show();
    return {
      element: make("div", { class: "control" }, make("label", { for: id }, label), input, shown),
      get value() { return input.valueAsNumber; },
      set value(number) { input.value = number; change(); },
      set max(number) { input.max = number; show(); },
    };
  }

  /** A slider over the steps 0 … last, with buttons for one back and one on. */
  function stepper(label, last, react, start = 0) {
    const steps = slider(label, { min: 0, max: last, value: start }, () => { limit(); react(); });
    const move = by => () => { steps.value += by; };
    const back = make("button", { type: "button", onclick: move(-1) }, "Back");
    const next = make("button", { type: "button", onclick: move(1) }, "Next");
    const limit = () => {
      back.setAttribute("aria-disabled", steps.value <= 0);
      next.setAttribute("aria-disabled", steps.value >= last);
    };
    limit();
    steps.element.append(make("span", { class: "moves" }, back, next));
    return {
      element: steps.element,
      get value() { return steps.value; },
      set last(number) { last = number; steps.max = last; limit(); },
    };
  }

  /** One of several values, as radio buttons. */
  function choice(label, options, react, start = 0) {
    const name = fresh();
    const inputs = options.map((_, i) => make("input", { type: "radio", name, checked: i === start, onchange: react }));
    const labels = options.map((option, i) => make("label", {}, inputs[i], make("span", {}, option)));
    return {
      element: make("fieldset", { class: "control choice" }, make("legend", {}, label), ...labels),
      get value() { return inputs.findIndex(input => input.checked); },
    };
  }

  /** Yes or no. */
  function check(label, start, react) {
    const input = make("input", { type: "checkbox", checked: start, onchange: react });
    return {
      element: make("div", { class: "control" }, make("label", {}, input, " ", label)),
      get value() { return input.checked; },
    };
  }

  /** Buttons of which one is chosen by pointer, Tab or arrows; Tab goes to the chosen one only. */
  function row(buttons, react, start = 0, columns = 1) {
    let chosen = start;
    const choose = i => {
      chosen = i;
      buttons.forEach((button, j) => {
        button.setAttribute("aria-pressed", i === j);
        button.tabIndex = i === j ? 0 : -1;
      });
    };
    const keys = {
      ArrowLeft: i => i - 1, ArrowUp: i => i - columns, ArrowRight: i => i + 1, ArrowDown: i => i + columns,
      Home: () => 0, End: () => buttons.length - 1,
    };
    buttons.forEach((button, i) => {
      const take = () => { if (chosen !== i) { choose(i); react(); } };
      button.addEventListener("focus", take);
      button.addEventListener("pointerenter", take);
      button.addEventListener("click", take);
      button.addEventListener("keydown", event => {
        if (!keys[event.key]) return;
        event.preventDefault();
        const goal = keys[event.key](i);
        if (buttons[goal]) buttons[goal].focus();
      });
    });
    choose(start);
    return { get value() { return chosen; } };
  }

  /** A horizontal bar for a share between 0 and 1. */
  function bar(share, kind = "") {
    const inside = make("span", { class: kind });
    inside.style.width = `${100 * Math.min(1, Math.max(0, share))}%`;
    return make("span", { class: "bar", "aria-hidden": "true" }, inside);
  }

  /** The numbers 0 … n - 1. */
  const range = n => [...Array(n).keys()];

  /** A text with as many digits as say something: 0.034, 1.20, 45.0, 1.2e-7. */
  function digits(x) {
    const size = Math.abs(x);
    if (size !== 0 && size < 5e-4) return x.toExponential(1);
    return x.toFixed(size < 0.1 && size !== 0 ? 3 : size < 10 ? 2 : size < 100 ? 1 : 0);
  }

  /** Load a script, its path relative to this one's, unless that is done. */
  function script(file) {
    if (!scripts.has(file)) scripts.set(file, new Promise((resolve, reject) => {
      const onerror = () => reject(new Error(`${file} is missing`));
      document.head.append(make("script", { src: new URL(file, home), onload: resolve, onerror }));
    }));
    return scripts.get(file);
  }

  /** Fetch a figure's model when the reader first comes near it, not with the page. Returns what does so at once. */
  function whenNear(panel, say, start) {
    let begun;
    const begin = () => (begun ??= start().catch(error => say(`The model could not be loaded: ${error.message}`)));
    for (const sign of ["pointerenter", "focusin"]) panel.addEventListener(sign, begin);
    addEventListener("scroll", begin, { once: true, passive: true });
    return begin;
  }

  /** Register what draws a figure: a function of the panel, the data, and `say`, which writes the sentence below. */
  function figure(name, title, draw) {
    figures.set(name, { title, draw });
  }

  function mount(place) {
    const { title, draw } = figures.get(place.dataset.name);
    const panel = make("div", { class: "panel", role: "group", "aria-label": title });
    const says = make("p", { class: "says", "aria-live": "polite" });
    draw(panel, JSON.parse(place.querySelector("script").textContent), text => { says.textContent = text; });
    panel.append(says);
    place.append(panel);
    place.classList.add("live");
  }

  return { make, drawing, slider, stepper, choice, check, row, bar, range, digits, script, whenNear, figure, mount };
})();
