"use strict";
// Each table header becomes a button that sorts the rows by its column, as numbers or as text.
for (const table of document.querySelectorAll("table[data-sortable]")) {
  const headers = [...table.tHead.rows[0].cells];
  headers.forEach((header, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...header.childNodes);
    header.append(button);
    button.addEventListener("click", () => {
      const isUp = header.ariaSort !== "ascending";
      for (const cell of headers) cell.ariaSort = null;
      header.ariaSort = isUp ? "ascending" : "descending";
      const value = (row) => row.cells[column].textContent;
      const compare = (first, second) => value(first).localeCompare(value(second), undefined, { numeric: true });
      const rows = [...table.tBodies[0].rows].sort(compare);
      table.tBodies[0].append(...(isUp ? rows : rows.reverse()));
    });
  });
}
