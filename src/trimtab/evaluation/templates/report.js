"use strict";
const specifications = JSON.parse(document.getElementById("specifications").textContent);
const options = { renderer: "svg", actions: { export: true, source: false, compiled: false, editor: false } };
Promise.all(Object.entries(specifications).map(([name, specification]) =>
  vegaEmbed(document.getElementById(`figure-${name}`), specification, options)
)).then(
  () => { document.body.dataset.charts = "ready"; },
  (error) => { document.body.dataset.charts = "failed"; console.error(error); }
);

// A click on a heading sorts by the exact values, not by their rounded text.
for (const button of document.querySelectorAll("th button")) {
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
  });
}
