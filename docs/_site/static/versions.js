// Offers the versions of versions.json, which stands beside the folders of all versions; where there is none, nothing.
document.addEventListener("DOMContentLoaded", function () {
  "use strict";
  var box = document.querySelector(".versions"), root = document.documentElement.dataset.content_root || "./";
  if (!box || !location.protocol.startsWith("http")) return;
  fetch(root + "../versions.json").then(function (answer) { return answer.ok ? answer.json() : []; }).then(function (names) {
    var list = box.querySelector("select");
    if (names.indexOf(box.dataset.version) < 0) return;
    names.forEach(function (name) { list.add(new Option(name, name, false, name === box.dataset.version)); });
    list.addEventListener("change", function () { location.href = root + "../" + encodeURIComponent(list.value) + "/index.html"; });
    box.hidden = false;
  }).catch(function () {});
});
