"use strict";
// Sorting, enlarging, light and dark, and opening what is folded when it is asked for. The page can be read without it.

const root = document.documentElement;
const all = (selector, inside = document) => [...inside.querySelectorAll(selector)];

// Light and dark: as the system says, until the button says otherwise. Nothing is stored.
const theme = document.getElementById("theme");
const systemDark = matchMedia("(prefers-color-scheme: dark)");
const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : systemDark.matches);
const nameTheme = () => { theme.textContent = isDark() ? "Light" : "Dark"; };
theme.hidden = false;
theme.addEventListener("click", () => {
  root.dataset.theme = isDark() ? "light" : "dark";
  nameTheme();
});
systemDark.addEventListener("change", nameTheme);
nameTheme();

// Contents: open beside the page where there is room, a menu where there is not.
const contents = document.getElementById("contents");
const roomy = matchMedia("(min-width: 1100px)");
const fold = () => { contents.open = roomy.matches; };
roomy.addEventListener("change", fold);
fold();
contents.addEventListener("click", (event) => {
  if (event.target.closest("a") && !roomy.matches) contents.open = false;
});

// A link into something folded opens it first.
const reveal = () => {
  const target = document.getElementById(location.hash.slice(1));
  for (let node = target; node; node = node.parentElement) if (node.tagName === "DETAILS") node.open = true;
  if (target) target.scrollIntoView();
};
addEventListener("hashchange", reveal);
if (location.hash) reveal();

// Tables: first press of a heading sorts upwards, the second downwards; what has no value stays last.
const value = (row, column) => row.cells[column].dataset.sort;
const compare = (a, b) => (a !== "" && b !== "" && !isNaN(a) && !isNaN(b) ? a - b : a.localeCompare(b));
for (const table of all("table.sortable")) {
  const heads = all("thead th", table);
  heads.forEach((head, column) => head.querySelector("button").addEventListener("click", () => {
    const up = head.getAttribute("aria-sort") !== "ascending";
    heads.forEach((each) => each.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", up ? "ascending" : "descending");
    const rows = all("tbody tr", table).sort((first, second) => {
      const [a, b] = [value(first, column), value(second, column)];
      if (a === "" || b === "") return (a === "") - (b === "");
      return up ? compare(a, b) : compare(b, a);
    });
    table.tBodies[0].append(...rows);
  }));
}

// Pictures: a press enlarges one, arrows go to the next.
const zoom = document.getElementById("zoom");
const pictures = all("button.zoom");
let shown = 0;
const show = (index) => {
  shown = (index + pictures.length) % pictures.length;
  const small = pictures[shown].querySelector("img");
  const large = zoom.querySelector("img");
  large.src = small.src;
  large.alt = small.alt;
  large.className = small.className;
  zoom.querySelector("figcaption").textContent = `${small.alt} (${shown + 1} of ${pictures.length})`;
};
pictures.forEach((button, index) => button.addEventListener("click", () => {
  show(index);
  zoom.showModal();
}));
zoom.addEventListener("click", (event) => {
  const step = event.target.dataset.step;
  if (step === "0" || event.target === zoom) zoom.close();
  else if (step) show(shown + Number(step));
});
zoom.addEventListener("keydown", (event) => {
  const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
  if (step) show(shown + step);
});
zoom.addEventListener("close", () => pictures[shown].focus());

// On paper nothing can be opened, so all of it is; afterwards it is as it was.
const paper = matchMedia("print");
let folded = [];
const unfold = () => {
  folded = paper.matches ? all("details:not([open])") : folded;
  folded.forEach((each) => { each.open = paper.matches; });
};
paper.addEventListener("change", unfold);
