// A linked glossary term shows its definition while the pointer is on it or it has the focus. The box stays while the
// pointer is on the box, and Escape puts it away (WCAG 2.2, 1.4.13). A tap follows the link, as always.
"use strict";

const definitions = JSON.parse(document.getElementById("definitions").textContent);
const box = document.createElement("div");
box.id = "definition";
box.setAttribute("role", "tooltip");
box.hidden = true;
document.body.append(box);

let term = null; // the link that is explained now
let leaving; // the timer that gives the pointer time to reach the box

function show(link) {
  hide();
  term = link;
  box.innerHTML = definitions[decodeURIComponent(link.hash.slice(1))];
  box.hidden = false;
  link.setAttribute("aria-describedby", box.id);
  const { left, top, bottom } = link.getClientRects()[0];
  const room = document.documentElement.clientWidth - box.offsetWidth - 8;
  const above = bottom + box.offsetHeight > window.innerHeight && top > box.offsetHeight;
  box.style.left = `${window.scrollX + Math.max(8, Math.min(left, room))}px`;
  box.style.top = `${window.scrollY + (above ? top - box.offsetHeight : bottom)}px`;
}

function hide() {
  clearTimeout(leaving);
  term?.removeAttribute("aria-describedby");
  term = null;
  box.hidden = true;
}

function leave() {
  clearTimeout(leaving);
  leaving = setTimeout(hide, 200);
}

for (const link of document.querySelectorAll('article a.internal[href*="#term-"]')) {
  link.addEventListener("pointerenter", event => event.pointerType === "touch" || show(link));
  link.addEventListener("pointerleave", leave);
  link.addEventListener("focus", () => link.matches(":focus-visible") && show(link));
  link.addEventListener("blur", hide);
}
box.addEventListener("pointerenter", () => clearTimeout(leaving));
box.addEventListener("pointerleave", leave);
document.addEventListener("keydown", event => event.key === "Escape" && hide());
