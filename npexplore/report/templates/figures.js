// Figures are drawn when they come into sight, in the page's theme, and can be taken away as PNG, SVG and CSV.
(function () {
  "use strict";
  var KEPT = ["x", "y", "z", "text", "hovertext", "customdata", "labels", "ids", "name", "values", "parents"];
  var DARK = {
    "#222222": "#e6edf3", "#000000": "#e6edf3", "black": "#e6edf3", "white": "#161b22", "#ffffff": "#161b22", "#fff": "#161b22",
    "#e5e7eb": "#30363d", "#0072b2": "#3d8fe8", "#56b4e9": "#a5d8ff", "#d55e00": "#f0883e", "#009e73": "#2fbf93",
    "rgba(255,255,255,0.8)": "rgba(22,27,34,.8)", "rgba(255,255,255,0.85)": "rgba(22,27,34,.85)"
  };
  var ROOM = 150, WIDEST = 1200, WORDS = 40;  // pixels, on a phone: the least width of a panel, the largest of a figure; letters in a line of a legend
  var shared = window.NPEXPLORE_FIGURES, narrow = matchMedia("(max-width: 40rem)");
  function recoloured(part, key) {
    if (typeof part === "string") return DARK[part.toLowerCase().replace(/\s/g, "")] || part;
    if (!part || typeof part !== "object" || KEPT.indexOf(key) >= 0 || part.bdata) return part;
    if (Array.isArray(part)) return part.map(function (one) { return recoloured(one); });
    var made = {};
    Object.keys(part).forEach(function (name) { made[name] = recoloured(part[name], name); });
    return made;
  }
  function spec(box) {
    var found = JSON.parse(document.getElementById(box.id + "-data").textContent);
    if (found.layout.template === "npexplore") found.layout.template = shared.template;
    var title = found.layout.title, base = (found.layout.template || {}).layout || {}, whole = found.layout.height || base.height || 450;
    if (narrow.matches) {
      if (title && title.text) title.font = Object.assign({}, title.font, {size: 13});
      Object.keys(found.layout).forEach(function (name) {
        var along = /^[xy]axis\d*$/.test(name) && found.layout[name].title;
        if (along && along.text) along.font = Object.assign({}, along.font, {size: 12});
      });
      whole = below(found, whole);
      Object.keys(found.layout).forEach(function (name) { if (/^yaxis\d*$/.test(name)) whole = halved(found, base, name, whole); });
    }
    box.style.height = (narrow.matches && stacked(found, base) || whole) + "px";
    return document.documentElement.dataset.theme === "dark" ? recoloured(found) : found;
  }
  function halved(found, base, name, whole) {  // long names beside bars and marks come in two lines; the new height
    var edge = Object.assign({t: 64, b: 60}, base.margin, found.layout.margin), axis = found.layout[name], at = axis.tickvals, names = axis.ticktext, seen = new Set();
    if (!names) {
      found.data.forEach(function (one) {
        if ((one.yaxis || "y").replace("y", "yaxis") === name && Array.isArray(one.y)) one.y.forEach(function (value) { if (typeof value === "string") seen.add(value); });
      });
      at = names = Array.from(seen);
    }
    if (!Array.isArray(at) || !Array.isArray(names) || at.length !== names.length || names.length > 24) return whole;
    var plain = function (one) { return String(one).replace(/<[^>]*>/g, ""); };
    if (!names.some(function (one) { return plain(one).length > 22 && !/<br>/.test(one); })) return whole;
    axis.tickmode = "array";
    axis.tickvals = at;
    axis.tickfont = Object.assign({}, axis.tickfont, {size: 10});
    axis.ticktext = names.map(function (one) {
      var length = plain(one).length, told = 0, best = 0, words = String(one).split(" ");
      if (length <= 22 || /<br>/.test(one)) return one;
      words.forEach(function (word, k) {  // after a colon, else nearest to the middle
        var gap = /:$/.test(word) ? -1 : Math.abs((told += plain(word).length + 1) - length / 2);
        if (k < words.length - 1 && (!best || gap < best[0])) best = [gap, k + 1];
      });
      return best ? words.slice(0, best[1]).join(" ") + " <br>" + words.slice(best[1]).join(" ") : one;
    });
    var domain = axis.domain || [0, 1], more = 40 * names.length / (domain[1] - domain[0]) + edge.t + edge.b;
    return (found.layout.height = Math.max(whole, more));
  }
  function below(found, whole) {  // the legend comes below the plot, a name a row, long names in lines; the new height
    var all = found.layout, legend = all.legend || {}, flat = legend.orientation === "h", count = 0;
    var colours = all.coloraxis || found.data.some(function (one) { return one.colorbar || one.domain; });
    if (all.showlegend === false || legend.x > 0 && legend.x <= 1 || !flat && (legend.x <= 1 || legend.yref || colours)) return whole;
    var named = found.data.filter(function (one) { return one.showlegend !== false && one.name; }), names = new Set(named.map(function (one) { return one.name; }));
    if (names.size < 2) return whole;
    named.forEach(function (one) { one.name = lines(one.name, WORDS, one.name.length); });
    new Set(named.map(function (one) { return one.name; })).forEach(function (name) { count += name.split("<br>").length; });
    var edge = Object.assign({b: 60}, all.margin), more = Math.max(0, 22 * (count + (legend.title && legend.title.text ? 1 : 0)) + 72 - (flat ? edge.b : Math.min(edge.b, 60)));
    all.legend = Object.assign({}, legend, {orientation: "v", yref: "container", y: 0.01, yanchor: "bottom", x: 0, xanchor: "left", tracegroupgap: 0, font: {size: 12}});
    all.margin = Object.assign({}, all.margin, {b: edge.b + more});
    return (all.height = whole + more);
  }
  function widened(box) {  // a figure whose names leave a panel no room, or that says its least width, scrolls in its box on a phone
    var all = box._fullLayout, around = box.closest(".output"), least = (all.meta || {}).least_width || 0;
    if (!narrow.matches || !around) return box;
    var short = Math.min.apply(null, Object.keys(all).filter(function (name) { return /^xaxis\d*$/.test(name); }).map(function (name) { return all[name]._length; }));
    if (short < ROOM) least = Math.max(least, box.clientWidth + all._size.w * (ROOM / Math.max(short, 10) - 1));
    if (least <= box.clientWidth) return box;
    box.style.minWidth = Math.ceil(Math.min(least, WIDEST)) + "px";
    around.tabIndex = 0;
    if (!around.hasAttribute("aria-label")) { around.setAttribute("role", "region"); around.setAttribute("aria-label", "scrolls"); }
    return Plotly.Plots.resize(box);
  }
  function stacked(found, base) {  // panels side by side come one below another, each as high as it was; the new height
    var all = found.layout, panels = [], edge = Object.assign({}, base.margin, all.margin);
    Object.keys(all).forEach(function (name) {
      var down = all[name], along = /^yaxis\d*$/.test(name) && all[(down.anchor || "x").replace("x", "xaxis")];
      if (along && !down.overlaying && along.domain && down.domain) panels.push([along, down]);
    });
    var starts = new Set(panels.map(function (one) { return one[0].domain[0]; }));
    var other = found.data.some(function (trace) { return trace.domain || trace.colorbar || trace.coloraxis || trace.type === "heatmap"; });
    if (starts.size < 2 || starts.size > 4 || other || all.coloraxis) return 0;
    if (new Set(panels.map(function (one) { return one[0]; })).size < panels.length) return 0;  // two heights over one axis
    panels.sort(function (a, b) { return b[1].domain[1] - a[1].domain[1] || a[0].domain[0] - b[0].domain[0]; });
    var gap = 84, old = (all.height || base.height || 450) - edge.t - edge.b, top = 0, places = [];
    var high = panels.map(function (one) { return Math.max(140, old * (one[1].domain[1] - one[1].domain[0])); });
    var now = high.reduce(function (sum, one) { return sum + one; }, gap * (panels.length - 1));
    panels.forEach(function (one, k) {
      places.push([one[0].domain, one[1].domain[1], 1 - top / now]);
      one[1].domain = [Math.max(0, 1 - (top + high[k]) / now), 1 - top / now];
      top += high[k] + gap;
    });
    (all.annotations || []).forEach(function (note) {  // a panel's name goes with it
      var at = note.xref === "paper" && note.yref === "paper" && places.find(function (one) {
        return note.x >= one[0][0] && note.x <= one[0][1] && Math.abs(note.y - one[1]) < 0.02;
      });
      if (at) Object.assign(note, {x: 0.5, y: at[2]});
    });
    panels.forEach(function (one) {
      one[0].domain = [0, 1];
      one.forEach(function (axis) { delete axis.showticklabels; });
    });
    return (all.height = now + edge.t + edge.b);
  }
  function draw(box) {
    var found = spec(box);
    box.npxLate = false;
    box.dataset.theme = document.documentElement.dataset.theme;
    var config = narrow.matches ? Object.assign({}, shared.config, {displayModeBar: false}) : shared.config;
    box.style.minWidth = "";
    return Plotly.react(box, found.data, found.layout, config).then(function () { return widened(box); }).then(function () { return fitted(box); });
  }
  function lines(text, room, width) {  // the text in lines of at most `room` pixels; its longest one now takes `width`
    var all = text.split("<br>"), plain = function (one) { return one.replace(/<[^>]*>/g, "").length; };
    var most = Math.max(12, Math.floor(0.95 * room * Math.max.apply(null, all.map(plain)) / width));
    return all.map(function (one) {
      var length = 0;
      return one.split(" ").map(function (word, k) {
        var fits = !k || length + 1 + plain(word) <= most;
        length = fits && k ? length + 1 + plain(word) : plain(word);
        return (!k ? "" : fits ? " " : " <br>") + word;
      }).join("");
    }).join("<br>");
  }
  function fitted(box) {  // titles that would lie under the tools, or leave the figure, are cut into lines
    var whole = box.getBoundingClientRect(), bar = box.querySelector(".modebar"), made = {}, seen;
    var title = box.querySelector(".gtitle"), below = box.querySelector(".xtitle"), beside = box.querySelector(".ytitle");
    var end = (bar ? bar.getBoundingClientRect().left : whole.right) - 8;
    if (title && (seen = title.getBoundingClientRect()).right > end) {
      made["title.text"] = lines(box.layout.title.text, end - whole.left - 8, seen.width);
      made["title.xref"] = "container";
      made["title.x"] = 8 / whole.width;
    }
    if (below && (seen = below.getBoundingClientRect()).right > whole.right - 4) {
      made["xaxis.title.text"] = lines(box.layout.xaxis.title.text, 2 * whole.right - seen.left - seen.right - 8, seen.width);
    }
    var room = beside && box._fullLayout.yaxis._length;
    if (beside && (seen = beside.getBoundingClientRect()).height > room && box.layout.yaxis.title.text.indexOf("<br>") < 0) {
      made["yaxis.title.text"] = lines(box.layout.yaxis.title.text, room, seen.height);
    }
    var all = box._fullLayout, key = narrow.matches && all.legend;
    if (key && key.orientation === "v" && key.yref === "container") made["legend.x"] = Math.max(-2, (8 - all._size.l) / all._size.w);  // from the edge, not from the axis
    Object.assign(made, told_apart(box));
    if (!whole.width || !Object.keys(made).length) return box;
    return Plotly.relayout(box, made).then(function () {
      var more = told_apart(box);
      return Object.keys(more).length ? Plotly.relayout(box, more) : box;
    });
  }
  function told_apart(box) {  // labels of ticks that would lie on one another become fewer, or slanted; no name of a bar is left out
    var all = box._fullLayout, made = {};
    Object.keys(all).forEach(function (name) {
      var axis = all[name];
      if (!/^[xy]axis\d*$/.test(name) || !axis) return;
      var texts = box.querySelectorAll("." + axis._id + "tick text");
      var upright = name[0] === "y", many = axis._categories && axis._categories.length, each = axis._length / many;
      if (upright && axis.type === "category" && axis.tickmode !== "array" && texts.length && texts.length < many && each > 10) {
        made[name + ".dtick"] = 1;
        if (each < 17) made[name + ".tickfont.size"] = Math.floor(each / 1.25);
      }
      var ends = Array.from(texts, function (text) { return text.getBoundingClientRect(); }).filter(function (one) { return one.width; });
      ends.sort(function (a, b) { return a.left - b.left; });
      var close = ends.some(function (one, k) { return k && one.left < ends[k - 1].right + 2 && Math.abs(one.top - ends[k - 1].top) < 4; });
      if (upright || !close || axis.tickangle !== "auto" && axis.tickangle) return;
      var listed = axis.tickmode === "array" || axis.type === "category";
      if (axis.type === "log" && !listed && axis.dtick !== "D2") made[name + ".dtick"] = "D2";
      else if (listed && !/rotate\(-?[1-9]/.test(texts[0].getAttribute("transform"))) made[name + ".tickangle"] = -45;
      else if (!listed) made[name + ".nticks"] = Math.max(2, Math.floor(ends.length / 2));
    });
    return made;
  }
  function told(values) {  // single precision has seven digits; what follows them is nobody's
    return values instanceof Float32Array ? Array.from(values, function (value) { return Number(value.toPrecision(7)); }) : values;
  }
  function series(box) {
    var lines = [["line", "x", "y", "low", "high"]];
    (box._fullData || []).forEach(function (trace) {
      var x = told(trace.x || trace.labels || []), y = told(trace.y || trace.values || []);
      for (var k = 0; k < Math.max(x.length, y.length); k++) {
        var bars = trace.error_x && trace.error_x.visible ? [trace.error_x, x] : trace.error_y && trace.error_y.visible ? [trace.error_y, y] : null;
        var up = bars && bars[0].array ? bars[0].array[k] : null, down = bars && bars[0].arrayminus ? bars[0].arrayminus[k] : up;
        lines.push([trace.name || "", x.length ? x[k] : k, y.length ? y[k] : k, bars && up != null ? bars[1][k] - down : "", bars && up != null ? bars[1][k] + up : ""]);
      }
    });
    return lines.map(function (line) {
      return line.map(function (cell) {
        var text = cell == null ? "" : String(cell).replace(/<[^>]*>/g, " ");
        if (/^[=+@\t-]/.test(text) && isNaN(Number(text))) text = "'" + text;  // no spreadsheet takes it for a formula
        return /[",\n]/.test(text) ? '"' + text.replace(/"/g, '""') + '"' : text;
      }).join(",");
    }).join("\n") + "\n";
  }
  function save(name, text) {
    var link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], {type: "text/csv"}));
    link.download = name;
    link.click();
    setTimeout(function () { URL.revokeObjectURL(link.href); }, 1000);
  }
  function tools(box) {
    var bar = document.createElement("div"), title = box.getAttribute("aria-label") || "figure";
    bar.className = "tools";
    ["PNG", "SVG", "CSV"].forEach(function (form) {
      var button = document.createElement("button");
      button.type = "button";
      button.textContent = form;
      button.setAttribute("aria-label", "Save as " + form + ": " + title);
      button.addEventListener("click", function () {
        Promise.resolve(box._fullData && !box.npxLate || draw(box)).then(function () {
          if (form === "CSV") save(box.id + ".csv", series(box));
          else Plotly.downloadImage(box, {format: form.toLowerCase(), filename: box.id, width: box.clientWidth, height: box.clientHeight});
        });
      });
      bar.append(button);
    });
    box.after(bar);
  }
  document.addEventListener("DOMContentLoaded", function () {
    var all = Array.from(document.querySelectorAll("[data-figure]"));
    if (!all.length || !window.Plotly) return;
    var watch = new IntersectionObserver(function (seen) {
      seen.forEach(function (one) {
        if (one.isIntersecting) { watch.unobserve(one.target); draw(one.target); }
      });
    }, {rootMargin: "300px"});
    all.forEach(function (box) { tools(box); watch.observe(box); });
    function again() {  // what is out of sight waits until it is seen, or printed
      all.forEach(function (box) { if (box._fullData) { box.npxLate = true; watch.observe(box); } });
    }
    document.addEventListener("npx-theme", again);
    narrow.addEventListener("change", again);
    document.addEventListener("npx-print", function () {
      all.forEach(function (box) { if (!box._fullData || box.npxLate) draw(box); });
    });
    document.addEventListener("toggle", function (event) {
      event.target.querySelectorAll("[data-figure]").forEach(function (box) { if (box._fullData) Plotly.Plots.resize(box); });
    }, true);
  });
})();
