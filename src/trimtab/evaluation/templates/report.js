"use strict";
// What the page carries is compressed: the charting library and what it draws.
async function unpacked(id) {
  const bytes = Uint8Array.from(atob(document.getElementById(id).textContent), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return new Response(stream).text();
}

const idle = () => new Promise((then) => window.requestIdleCallback ? requestIdleCallback(then, { timeout: 500 }) : setTimeout(then));

// The drawings are there at once; charts to explore take their places when the page has time.
async function draw() {
  const specifications = JSON.parse(await unpacked("specifications"));
  (0, eval)(await unpacked("vega"));
  const options = { renderer: "svg", actions: { export: true, source: false, compiled: false, editor: false } };
  for (const [name, specification] of Object.entries(specifications)) {
    await idle();
    await vegaEmbed(document.getElementById(`figure-${name}`), specification, options);
  }
}
const drawn = (state, error) => { document.body.dataset.charts = state; if (error) console.error(error); };
window.addEventListener("load", () => draw().then(() => drawn("ready"), (error) => drawn("failed", error)));

const PAGE = 25;  // rows of a table that are shown at once
const SEARCHED = 12;  // rows from which on a table can be searched

function made(name, properties, ...children) {
  const element = Object.assign(document.createElement(name), properties);
  element.append(...children);
  return element;
}

// Published rows are folded away under their paper.
for (const body of document.querySelectorAll("tbody.published")) {
  const place = body.querySelector(".place span");
  const table = body.closest("table");
  const button = made("button", { type: "button", textContent: place.textContent });
  const fold = (folded) => {
    body.classList.toggle("folded", folded);
    button.setAttribute("aria-expanded", String(!folded));
  };
  button.addEventListener("click", () => fold(!body.classList.contains("folded")));
  place.replaceChildren(button);
  fold(table.tBodies[0] !== body && table.tBodies[0].querySelector(".row") !== null);
}

// Long tables are searched, and shown page by page.
const shows = new Map();
for (const table of document.querySelectorAll("table")) {
  const body = table.querySelector("tbody:not(.published)");
  const rows = body ? [...body.querySelectorAll("tr.row")] : [];
  if (rows.length <= SEARCHED) continue;
  const name = table.closest(".scroll").getAttribute("aria-label");
  const search = made("input", { type: "search", placeholder: "Search", ariaLabel: `Search in ${name}` });
  const before = made("button", { type: "button", textContent: "‹", ariaLabel: "Earlier rows" });
  const after = made("button", { type: "button", textContent: "›", ariaLabel: "Later rows" });
  const said = made("span", { role: "status" });
  let first = 0;
  const show = () => {
    const wanted = search.value.trim().toLowerCase();
    const found = [...body.querySelectorAll("tr.row")].filter((row) => row.textContent.toLowerCase().includes(wanted));
    first = Math.max(0, Math.min(first, found.length - 1));
    const shown = new Set(found.slice(first, first + PAGE));
    for (const row of rows) row.hidden = !shown.has(row);
    said.textContent = found.length ? `${first + 1} to ${first + shown.size} of ${found.length}` : "none";
    before.disabled = first === 0;
    after.disabled = first + PAGE >= found.length;
  };
  search.addEventListener("input", () => { first = 0; show(); });
  before.addEventListener("click", () => { first -= PAGE; show(); });
  after.addEventListener("click", () => { first += PAGE; show(); });
  table.closest(".scroll").before(made("div", { className: "tools" }, search, before, after, said));
  shows.set(table, () => { first = 0; show(); });
  show();
}

// A click on a heading sorts by the exact values, not by their rounded text.
for (const button of document.querySelectorAll("thead th button")) {
  button.addEventListener("click", () => {
    const head = button.closest("th");
    const table = head.closest("table");
    const column = [...head.parentNode.children].indexOf(head);
    const down = head.getAttribute("aria-sort") === "ascending";
    for (const other of head.parentNode.children) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    const value = (row) => row.cells[column].dataset.value ?? "";
    const compare = (a, b) => value(a).localeCompare(value(b));
    const number = head.classList.contains("number");
    // Ours and published rows stay apart.
    for (const body of table.tBodies) {
      const rows = [...body.querySelectorAll("tr.row")].sort((a, b) => {
        if (value(a) === "" || value(b) === "") return (value(a) === "") - (value(b) === "");
        const order = number ? Number(value(a)) - Number(value(b)) : compare(a, b);
        return down ? -order : order;
      });
      body.append(...rows);
    }
    shows.get(table)?.();
  });
}
