"use strict";
// What the page carries is compressed: the libraries of charts and of tables, and what is drawn.
async function unpacked(id) {
  const bytes = Uint8Array.from(atob(document.getElementById(id).textContent), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return new Response(stream).text();
}

const idle = () => new Promise((then) => window.requestIdleCallback ? requestIdleCallback(then, { timeout: 500 }) : setTimeout(then));

// The drawings are there at once; a chart to explore takes its drawing's place when it comes near.
let specifications;
let turn = Promise.resolve();
async function draw(chart) {
  if (!specifications) {
    specifications = JSON.parse(await unpacked("specifications"));
    (0, eval)(await unpacked("vega"));
  }
  await idle();
  const options = { renderer: "svg", actions: { export: true, source: false, compiled: false, editor: false } };
  await vegaEmbed(chart, specifications[chart.id.slice("figure-".length)], options);
}
const near = new IntersectionObserver((entries) => {
  for (const chart of entries.filter((entry) => entry.isIntersecting).map((entry) => entry.target)) {
    near.unobserve(chart);
    const drawn = (state, error) => { chart.dataset.chart = state; if (error) console.error(error); };
    turn = turn.then(() => draw(chart)).then(() => drawn("ready"), (error) => drawn("failed", error));
  }
}, { rootMargin: "50%" });

const PAGE = 25;  // rows of a table that are shown at once
const SEARCHED = 12;  // rows from which on a table can be searched

// By exact values, not by their rounded text; what is unknown stands below, whichever way.
function sorted(name, compare) {
  const either = (way) => (a, b) => (a === "") - (b === "") || way * compare(a, b);
  DataTable.type(name, { order: { pre: (value) => value, asc: either(1), desc: either(-1) } });
}

// Published rows stay below ours, folded away under their paper: a heading for each place.
function grouped(table) {
  const first = table.tBodies[0];
  const hasOurs = !first.matches(".published") && first.querySelector(".row") !== null;
  const said = [...first.children].filter((row) => !row.matches(".row, .place"));
  const places = [];
  for (const [group, body] of [...table.tBodies].entries()) {
    const place = body.querySelector(".place");
    for (const row of body.querySelectorAll(".row")) {
      row.append(Object.assign(document.createElement("td"), { textContent: group }));
      if (place) row.classList.add("published");
      first.append(row);
    }
    if (place) places.push({ group, heading: place, folded: hasOurs, button: document.createElement("button") });
    if (body !== first) body.remove();
  }
  for (const row of [...said, ...places.map((place) => place.heading)]) row.remove();
  first.classList.remove("published");
  table.tHead.rows[0].append(document.createElement("th"));
  return { places, said };
}

function foldable(table, { places, said }) {
  const groupOf = (row) => Number(table.cell(row, -1).data());
  const body = table.table().body();
  const place = () => {
    const rows = table.rows({ page: "current" }).indexes().toArray().map((row) => [groupOf(row), table.row(row).node()]);
    if (places.length && !rows.length) body.replaceChildren();
    for (const { group, heading } of places) {
      body.insertBefore(heading, rows.find(([of]) => of >= group)?.[1] ?? null);
    }
    body.prepend(...said);
  };
  table.search.fixed("folded", (text, data, row) => !places.some((each) => each.folded && each.group === groupOf(row)));
  for (const each of places) {
    const words = each.heading.querySelector("span");
    each.button.type = "button";
    each.button.textContent = words.textContent;
    words.replaceChildren(each.button);
    each.button.setAttribute("aria-expanded", String(!each.folded));
    each.button.addEventListener("click", () => {
      each.folded = !each.folded;
      each.button.setAttribute("aria-expanded", String(!each.folded));
      table.draw(false);
      each.button.focus();
    });
  }
  table.on("draw", place);
  table.draw();
}

function explorable(element) {
  const rows = element.querySelectorAll("tbody:not(.published) .row").length;  // published ones are unfolded whole
  const groups = element.querySelector(".place") ? grouped(element) : null;
  const isLong = rows > PAGE;
  const table = new DataTable(element, {
    autoWidth: false,
    columnDefs: [
      ...(groups ? [{ targets: -1, visible: false, searchable: false }] : []),
      { targets: "number", type: "exact-number" },
      { targets: "_all", type: "exact-text" },
    ],
    language: {
      info: "_START_ to _END_ of _TOTAL_", infoEmpty: "none", infoFiltered: "", search: "", searchPlaceholder: "Search",
      zeroRecords: "No row has these words",
    },
    layout: {
      topStart: [...(rows > SEARCHED ? ["search"] : []), ...(isLong ? ["paging", "info"] : [])],
      topEnd: null, bottomStart: null, bottomEnd: null,
    },
    order: [],
    orderFixed: groups ? { pre: [[element.tHead.rows[0].cells.length - 1, "asc"]] } : [],
    pageLength: PAGE,
    paging: isLong,
  });
  if (groups) foldable(table, groups);
  // What turns the pages does not scroll with a wide table.
  const scroll = element.closest(".scroll");
  const search = table.table().container().querySelector("input[type=search]");
  if (!search) return table;
  search.ariaLabel = `Search in ${scroll.ariaLabel}`;
  const tools = search.closest(".dt-layout-row");
  tools.classList.add("tools");
  scroll.before(tools);
  return table;
}

async function explore() {
  (0, eval)(await unpacked("tables"));
  sorted("exact-number", (a, b) => Number(a) - Number(b));
  sorted("exact-text", (a, b) => a.localeCompare(b));
  const long = [];
  for (const element of document.querySelectorAll("table")) {
    if (element.querySelectorAll("tr.row").length < 2) continue;
    await idle();
    const table = explorable(element);
    if (table.page.info().length === PAGE) long.push(table);
  }
  // Paper shows every row.
  const turn = (isPaper) => { for (const table of long) table.page.len(isPaper ? -1 : PAGE).draw(); };
  const paper = window.matchMedia("print");
  paper.addEventListener("change", () => turn(paper.matches));
  window.addEventListener("beforeprint", () => turn(true));
  window.addEventListener("afterprint", () => turn(false));
  if (paper.matches) turn(true);
}

window.addEventListener("load", () => {
  const done = (state, error) => { document.body.dataset.tables = state; if (error) console.error(error); };
  explore().then(() => done("ready"), (error) => done("failed", error));
  for (const chart of document.querySelectorAll(".chart")) near.observe(chart);
});
