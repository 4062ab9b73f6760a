// What every page does: its theme, its folds, links into folds, boxes that scroll by key, search.
(function () {
  "use strict";
  var root = document.documentElement;
  function stored(value) {
    try {
      if (value) localStorage.setItem("npexplore-theme", value);
      return localStorage.getItem("npexplore-theme");
    } catch (refused) { return null; }
  }
  var system = matchMedia("(prefers-color-scheme: dark)");
  function theme(name) {
    root.dataset.theme = name;
    document.querySelectorAll(".theme").forEach(function (button) {
      button.textContent = name === "dark" ? "Light" : "Dark";  // what it will do
    });
    document.dispatchEvent(new CustomEvent("npx-theme", {detail: name}));
  }
  theme(stored() || (system.matches ? "dark" : "light"));
  system.addEventListener("change", function () { if (!stored()) theme(system.matches ? "dark" : "light"); });

  function unfold(target) {
    for (var part = target; part; part = part.parentElement)
      if (part.tagName === "DETAILS") part.open = true;
  }
  function follow() {
    var name = location.hash.slice(1), target = null;
    try { target = document.getElementById(decodeURIComponent(name)) || document.getElementById(name); }
    catch (malformed) { target = document.getElementById(name); }
    if (name && target) { unfold(target); target.scrollIntoView(); }
  }
  function boxes() {
    document.querySelectorAll(".table, .output, .output pre, .highlight, .picture, .slide").forEach(function (box) {
      var wide = box.scrollWidth > box.clientWidth + 1 || box.scrollHeight > box.clientHeight + 1;
      if (!wide || getComputedStyle(box).overflowX === "visible") return;
      box.tabIndex = 0;
      if (!box.hasAttribute("aria-label")) { box.setAttribute("role", "region"); box.setAttribute("aria-label", "scrolls"); }
    });
  }
  function toggles(button, selector, shut, opened) {
    if (!button) return;
    button.addEventListener("click", function () {
      var open = button.getAttribute("aria-pressed") !== "true";
      document.querySelectorAll(selector).forEach(function (part) { part.open = open; });
      button.setAttribute("aria-pressed", open);
      button.textContent = open ? opened : shut;
    });
  }
  function searching(box) {
    var found = document.getElementById("found"), pages = window.NPEXPLORE_PAGES || [];
    function near(text, at) { return (at > 40 ? "…" : "") + text.slice(Math.max(0, at - 40), at + 90) + "…"; }
    box.addEventListener("input", function () {
      var words = box.value.toLowerCase().split(/\s+/).filter(Boolean);
      found.textContent = "";
      found.hidden = !words.length;
      if (!words.length) return;
      var hits = pages.map(function (one) {
        var title = (one.page + " " + one.section).toLowerCase(), text = one.text.toLowerCase(), score = 0;
        for (var word of words) {
          if (title.includes(word)) score += 5;
          else if (text.includes(word)) score += 1;
          else return null;
        }
        return {one: one, score: score};
      }).filter(Boolean).sort(function (a, b) { return b.score - a.score; }).slice(0, 12);
      hits.forEach(function (hit) {  // text nodes alone: what a page says never becomes markup
        var line = document.createElement("li"), link = document.createElement("a"), told = document.createElement("small");
        link.href = hit.one.file + (hit.one.anchor ? "#" + encodeURIComponent(hit.one.anchor) : "");
        link.textContent = hit.one.page + (hit.one.section ? ": " + hit.one.section : "");
        told.textContent = near(hit.one.text, Math.max(0, hit.one.text.toLowerCase().indexOf(words[0])));
        line.append(link, document.createElement("br"), told);
        found.append(line);
      });
      if (!hits.length) {
        var none = document.createElement("li");
        none.textContent = "nothing found";
        found.append(none);
      }
    });
    box.addEventListener("keydown", function (event) {
      if (event.key === "Escape") { box.value = ""; found.hidden = true; }
      if (event.key === "Enter" && found.querySelector("a")) found.querySelector("a").click();
    });
  }
  document.addEventListener("DOMContentLoaded", function () {
    theme(root.dataset.theme);
    document.querySelectorAll(".theme").forEach(function (button) {
      button.addEventListener("click", function () { theme(stored(root.dataset.theme === "dark" ? "light" : "dark") || (root.dataset.theme === "dark" ? "light" : "dark")); });
    });
    toggles(document.getElementById("fold"), "details.source", "Show code", "Fold code");
    toggles(document.getElementById("open"), "details.chapter", "Open all sections", "Fold all sections");
    var box = document.getElementById("search");
    if (box) searching(box);
    document.addEventListener("toggle", boxes, true);
    document.addEventListener("click", function (event) {
      var link = event.target.closest && event.target.closest('a[href^="#"]');
      if (link) setTimeout(follow);
    });
    addEventListener("hashchange", follow);
    addEventListener("resize", boxes);
    var shown = null;  // paper is white
    addEventListener("afterprint", function () { if (shown) theme(shown); shown = null; });
    addEventListener("beforeprint", function () {
      if (root.dataset.theme === "dark") { shown = "dark"; theme("light"); }
      document.querySelectorAll("details.chapter").forEach(function (part) { part.open = true; });
      document.dispatchEvent(new CustomEvent("npx-print"));
    });
    boxes();
  });
  addEventListener("load", function () { follow(); boxes(); });
})();
