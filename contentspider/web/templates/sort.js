"use strict";
// The headers of a table become buttons that sort its rows, by number or text.
for (const table of document.querySelectorAll("table[data-sortable]")) {
  const headers = [...table.tHead.rows[0].cells];
  headers.forEach((header, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...header.childNodes);
    header.append(button);
    button.addEventListener("click", () => {
      const isUp = header.ariaSort !== "ascending";
      for (const other of headers) other.ariaSort = null;
      header.ariaSort = isUp ? "ascending" : "descending";
      const value = (row) => row.cells[column].textContent;
      const compare = (one, other) => value(one).localeCompare(value(other), undefined, { numeric: true });
      const rows = [...table.tBodies[0].rows].sort(compare);
      table.tBodies[0].append(...(isUp ? rows : rows.reverse()));
    });
  });
}
