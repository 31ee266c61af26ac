"use strict";
// Brings a page's interactive figures to life, and loads nothing where there are none.
// Plain scripts, not modules: browsers refuse to load modules into a page opened from a disk.
{
  const home = document.currentScript.src;
  const places = [...document.querySelectorAll(".interactive")];

  const load = file => new Promise((resolve, reject) => {
    const url = new URL(file, home);
    const style = file.endsWith(".css");
    const element = document.createElement(style ? "link" : "script");
    Object.assign(element, style ? { rel: "stylesheet", href: url } : { src: url });
    element.onload = resolve;
    element.onerror = () => reject(new Error(`${file} could not be loaded`));
    document.head.append(element);
  });

  const begin = async () => {
    await Promise.all([load("interactive.css"), load("common.js")]);
    await Promise.all([...new Set(places.map(place => `${place.dataset.name}.js`))].map(load));
    places.forEach(Interactive.mount);
    dispatchEvent(new Event("interactive"));
  };

  if (places.length) begin();
}
