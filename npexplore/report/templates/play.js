// Sliders over a grid of solved machines; between its nodes the logarithms of rates are interpolated, knob by knob.
(function () {
  "use strict";
  var SVG = "http://www.w3.org/2000/svg";
  function made(tag, attributes, text) {
    var one = document.createElementNS(SVG, tag);
    Object.keys(attributes).forEach(function (name) { one.setAttribute(name, attributes[name]); });
    if (text != null) one.textContent = text;
    return one;
  }
  function element(tag, text, name) {
    var one = document.createElement(tag);
    if (text != null) one.textContent = text;
    if (name) one.className = name;
    return one;
  }
  function between(values, value) {
    var at = values.indexOf(value);
    if (at >= 0) return [[at, 1]];
    var above = values.findIndex(function (one) { return one > value; });
    var weight = Math.log(value / values[above - 1]) / Math.log(values[above] / values[above - 1]);
    return [[above - 1, 1 - weight], [above, weight]];
  }
  function blend(play, array, point) {
    var corners = [[0, 1]];
    play.knobs.forEach(function (knob) {
      var ways = between(knob.values, point[knob.name]), next = [];
      corners.forEach(function (corner) {
        ways.forEach(function (way) { next.push([corner[0] * knob.values.length + way[0], corner[1] * way[1]]); });
      });
      corners = next;
    });
    var total = 0;
    for (var corner of corners) {
      if (array[corner[0]] == null) return null;
      total += corner[1] * Math.log(array[corner[0]]);
    }
    return Math.exp(total);
  }
  function answer(play, point) {
    var limits = Object.keys(play.ceilings).map(function (name) {
      return {name: name, rate: blend(play, play.ceilings[name], point)};
    }).filter(function (one) { return one.rate != null; }).sort(function (a, b) { return a.rate - b.rate; });
    return {limits: limits, queueing: blend(play, play.queueing, point), estimate: play.estimate ? blend(play, play.estimate, point) : null, bits: blend(play, play.bits, point)};
  }
  function short(value) { return Number(value.toPrecision(3)).toLocaleString("en"); }
  function rate(value) {
    return value == null ? "no answer" : value >= 1e6 ? short(value / 1e6) + " Mpps" : value >= 1e3 ? short(value / 1e3) + " kpps" : short(value) + " pps";
  }
  function steps(knob) {  // where a slider may stand
    var values = knob.values, low = values[0], high = values[values.length - 1];
    if (typeof low === "string" || !knob.between) return values;
    var whole = values.every(Number.isInteger), all = [];
    for (var k = 0; k <= 96; k++) {
      var one = low * Math.pow(high / low, k / 96);
      all.push(whole ? Math.round(one) : one);
    }
    values.forEach(function (value) { all.push(value); });
    return Array.from(new Set(all)).sort(function (a, b) { return a - b; });
  }
  function start(box) {
    var play = JSON.parse(document.getElementById(box.id + "-play").textContent), point = {}, along = null;
    var controls = element("div", null, "knobs"), told = element("p", null, "verdict"), picture = made("svg", {viewBox: "0 0 860 300", role: "img"}), slide = element("div", null, "slide");
    slide.append(picture);
    told.setAttribute("role", "status");
    var interpolated = play.knobs.filter(function (knob) { return knob.between; }).map(function (knob) { return knob.name; }).join(", ");
    play.knobs.forEach(function (knob) {
      point[knob.name] = knob.start;
      if (!along && typeof knob.values[0] !== "string") along = knob;
      var label = element("label"), name = element("span", knob.name.replace(/_/g, " ")), shown = element("output", String(knob.start)), field;
      if (typeof knob.values[0] === "string") {
        field = element("select");
        knob.values.forEach(function (value) { field.append(element("option", value)); });
        field.value = knob.start;
        shown.hidden = true;
        field.addEventListener("change", function () { point[knob.name] = field.value; draw(); });
      } else {
        var places = steps(knob);
        field = element("input");
        field.type = "range";
        field.min = 0;
        field.max = places.length - 1;
        field.value = places.indexOf(knob.start);
        field.addEventListener("input", function () {
          point[knob.name] = places[Number(field.value)];
          along = knob;
          draw();
        });
      }
      field.name = knob.name;
      label.append(name, field, shown);
      controls.append(label);
      knob.shown = shown;
    });
    function draw() {
      var now = answer(play, point), bound = now.limits[0];
      play.knobs.forEach(function (knob) {
        knob.shown.textContent = typeof point[knob.name] === "number" ? short(point[knob.name]) : point[knob.name];
      });
      told.textContent = "At most " + rate(bound.rate) + " (" + short(bound.rate * now.bits / 1e9) + " Gb/s of " + play.counted + "), bound by " + bound.name + "; with waiting: queueing " + rate(now.queueing) + (play.estimate ? ", estimate " + rate(now.estimate) : "") + ".";
      box.dataset.bound = bound.rate;
      box.dataset.bottleneck = bound.name;
      box.dataset.queueing = now.queueing == null ? "" : now.queueing;
      while (picture.firstChild) picture.firstChild.remove();
      picture.setAttribute("aria-label", told.textContent);
      roofline(now);
      bars(now);
    }
    function roofline(now) {
      var values = steps(along);
      function curve(name, array, kind) {
        return {name: name, kind: kind || "ceiling", points: values.map(function (value) {
          return [value, blend(play, array, Object.assign({}, point, {[along.name]: value}))];
        }).filter(function (one) { return one[1] != null; })};
      }
      var every = now.limits.map(function (one) { return curve(one.name, play.ceilings[one.name]); });
      var envelope = values.map(function (value, k) {
        return [value, Math.min.apply(null, every.map(function (one) { return one.points[k] ? one.points[k][1] : Infinity; }))];
      });
      every.forEach(function (one) {  // those that come nearest to binding
        one.near = Math.min.apply(null, one.points.map(function (p, k) { return p[1] / envelope[k][1]; }));
      });
      every.sort(function (a, b) { return a.near - b.near; });
      every = every.slice(0, 6);
      var waiting = [curve("queueing", play.queueing, "queueing")].concat(play.estimate ? [curve("estimate", play.estimate, "estimate")] : []);
      var curves = every.concat([{name: "bound", kind: "binding", points: envelope}], waiting).filter(function (one) { return one.points.length; });
      var lowest = now.limits[0].rate, all = curves.flatMap(function (one) { return one.points.map(function (p) { return p[1]; }); });
      var low = Math.min.apply(null, all.concat(lowest)) / 1.3, high = Math.min(Math.max.apply(null, all) * 1.3, Math.max.apply(null, envelope.map(function (p) { return p[1]; })) * 8);
      function x(value) { return 60 + 345 * Math.log(value / values[0]) / Math.log(values[values.length - 1] / values[0]); }
      function y(value) { return 250 - 225 * Math.max(0, Math.min(1, Math.log(value / low) / Math.log(high / low))); }
      for (var power = Math.ceil(Math.log10(low)); power <= Math.log10(high); power++) {
        picture.append(made("line", {x1: 60, x2: 405, y1: y(Math.pow(10, power)), y2: y(Math.pow(10, power)), class: "grid"}));
        picture.append(made("text", {x: 54, y: y(Math.pow(10, power)) + 4, "text-anchor": "end"}, rate(Math.pow(10, power)).replace("pps", "")));
      }
      along.values.forEach(function (value) {
        picture.append(made("text", {x: x(value), y: 268, "text-anchor": "middle"}, short(value)));
      });
      picture.append(made("text", {x: 60, y: 283, class: "title"}, "packets/s by " + along.name.replace(/_/g, " ")));
      picture.append(made("text", {x: 60, y: 297}, "ceilings grey, bound thick, queueing blue" + (play.estimate ? ", estimate orange" : "")));
      picture.append(made("path", {d: "M60 25V250H405", class: "axis"}));
      curves.forEach(function (one) {
        picture.append(made("polyline", {points: one.points.map(function (p) { return x(p[0]).toFixed(1) + "," + y(p[1]).toFixed(1); }).join(" "), class: one.kind}));
      });
      var ends = every.map(function (one) {
        return {name: one.name, at: y(one.points[one.points.length - 1][1])};
      }).sort(function (a, b) { return a.at - b.at; });
      ends.forEach(function (one, k) {  // names of ceilings, apart from each other
        one.at = Math.max(one.at, k ? ends[k - 1].at + 11 : 0);
        picture.append(made("text", {x: 410, y: one.at + 4, class: "name"}, one.name));
      });
      picture.append(made("circle", {cx: x(point[along.name]), cy: y(lowest), r: 6, class: "here"}));
    }
    function bars(now) {
      var shown = now.limits.slice(0, 8), lowest = shown[0].rate;
      picture.append(made("text", {x: 610, y: 18, class: "title"}, "how full each resource is at the bound"));
      shown.forEach(function (one, k) {
        var top = 30 + 32 * k, share = lowest / one.rate;
        picture.append(made("text", {x: 600, y: top + 15, "text-anchor": "end"}, one.name));
        picture.append(made("rect", {x: 610, y: top, width: 205 * share, height: 20, class: k ? "bar" : "bar full"}));
        picture.append(made("text", {x: 616 + 205 * share, y: top + 15}, Math.round(100 * share) + " %"));
      });
    }
    box.append(controls, told, slide, element("p", "Grid: " + play.knobs.map(function (knob) {
      return knob.name + " " + knob.values.join(", ");
    }).join("; ") + ": " + play.nodes + " machines solved when the page was made" + (interpolated ? "; between them " + interpolated + " is interpolated, and at " + play.points + " random points the bound was off by at most " + (100 * play.missed.bounds).toFixed(1) + " %, queueing by " + (100 * play.missed.queueing).toFixed(1) + " %." : "; sliders stand at these alone."), "grid-told"));
    draw();
  }
  document.addEventListener("DOMContentLoaded", function () { document.querySelectorAll("[data-play]").forEach(start); });
})();
