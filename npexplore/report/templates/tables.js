// Tables sort by their heads (click or key) and keep the rows that hold the words of a filter.
(function () {
  "use strict";
  var FEW = 7;
  function value(row, column) {
    var text = (row.cells[column] ? row.cells[column].textContent : "").trim();
    var found = text.replace(/,/g, "").replace(/\u2212/g, "-").match(/^[^\d\w]*?([-+]?\d*\.?\d+(?:e[-+]?\d+)?)/i);
    return {text: text, number: found ? Number(found[1]) : NaN};
  }
  function groups(body) {  // a row and the notes that stand below it
    var all = [];
    Array.from(body.rows).forEach(function (row) {
      if (row.cells.length === 1 && row.cells[0].colSpan > 1 && all.length) all[all.length - 1].push(row);
      else all.push([row]);
    });
    return all;
  }
  function ready(table, number) {
    var head = table.tHead, body = table.tBodies[0];
    if (!head || !body || body.rows.length < 2 || table.classList.contains("plain")) return;
    var heads = Array.from(head.rows[head.rows.length - 1].cells);
    heads.forEach(function (cell, column) {
      if (cell.colSpan > 1 || !cell.textContent.trim()) return;
      cell.scope = "col";
      var button = document.createElement("button");
      button.type = "button";
      button.className = "sort";
      button.append.apply(button, Array.from(cell.childNodes));
      cell.append(button);
      button.addEventListener("click", function () {
        var down = cell.getAttribute("aria-sort") === "ascending", sign = down ? -1 : 1;
        heads.forEach(function (other) { other.removeAttribute("aria-sort"); });
        cell.setAttribute("aria-sort", down ? "descending" : "ascending");
        var rows = groups(body).map(function (group) { return {group: group, at: value(group[0], column)}; });
        var numbers = rows.filter(function (row) { return !isNaN(row.at.number); }).length * 2 > rows.length;
        rows.sort(function (a, b) {
          if (!numbers) return sign * a.at.text.localeCompare(b.at.text, "en", {numeric: true});
          if (isNaN(a.at.number) || isNaN(b.at.number)) return isNaN(a.at.number) - isNaN(b.at.number);
          return sign * (a.at.number - b.at.number);
        });
        rows.forEach(function (row) { row.group.forEach(function (line) { body.append(line); }); });
      });
    });
    var box = table.closest(".table") || table, bar = document.createElement("div");
    if (body.rows.length > FEW) {
      var field = document.createElement("input"), count = document.createElement("span");
      bar.className = "rows";
      field.type = "search";
      field.placeholder = "filter rows";
      field.setAttribute("aria-label", "Keep the rows that hold these words");
      count.setAttribute("role", "status");
      field.addEventListener("input", function () {
        var words = field.value.toLowerCase().split(/\s+/).filter(Boolean), kept = 0, all = groups(body);
        all.forEach(function (group) {
          var text = group.map(function (row) { return row.textContent; }).join(" ").toLowerCase();
          var there = words.every(function (word) { return text.includes(word); });
          kept += there;
          group.forEach(function (row) { row.hidden = !there; });
        });
        count.textContent = words.length ? kept + " of " + all.length + " rows" : "";
      });
      bar.append(field, count);
      box.before(bar);
      var whole = document.createElement("button");
      whole.type = "button";
      whole.textContent = "all rows";
      whole.setAttribute("aria-pressed", "false");
      whole.addEventListener("click", function () {
        whole.setAttribute("aria-pressed", box.classList.toggle("whole"));
      });
      whole.hidden = true;
      bar.append(whole);
      var fits = function () {  // a table that is little longer than its box stands whole; folded ones are measured when they open
        var more = box.scrollHeight - box.clientHeight;
        if (more > 0 && more < box.clientHeight / 4) box.classList.add("whole");
        else if (more > 0) whole.hidden = false;
      };
      fits();
      document.addEventListener("toggle", fits, true);
    }
  }
  document.addEventListener("DOMContentLoaded", function () {
    document.querySelectorAll("table").forEach(ready);
  });
})();
