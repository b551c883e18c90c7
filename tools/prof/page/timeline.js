// ---- The timeline: slices of all tracks, drawn pixel by pixel; times are ns ----

const ROW = 17, HEAD = 20, PROCESS = 26, RULER = 32, GRAPH = 44, GAPS = 14;
// frames: ms of the last ones; drawn: how many things were in each.
const view = {from: 0, to: 1, chosen: -1, measured: null, found: null, frames: [], drawn: []};
const whole = {from: 0, to: 1};
let lines = [], height = 0;         // what stands at which y, from the top of all tracks
let extents = [];                   // of each file [top, end] there
let inks = null;                    // by name: [background, text], as in the theme
const canvas = $("timeline"), lanes = $("lanes");

// ---- What there is: heads of processes, tracks with their rows, counters ----

function addLine(line, size) {
  lines.push(Object.assign(line, {y: height, size}));
  height += size;
}
// Before what is of a file: its rank; and its name where that is not enough to tell it. Of two that
// are compared what their columns are called.
const ranks = new Set(told.files.map(file => file[3]).filter(rank => rank >= 0));
const named = told.files.length > 1 && ranks.size < told.files.length;
function fileText(file) {
  const [name, , , rank] = told.files[file];
  if (data.compare) return plain(data.compare[file]) + ": ";
  return (rank >= 0 ? "rank " + rank + ": " : "") + (named ? plain(name) + ": " : "");
}
function titleOf(p) {
  const [file, pid, name, labels] = told.processes[p];
  const label = [name, labels].filter(Boolean).map(plain).join(" \u2013 ");
  const of = fileText(file);
  return of + (label ? label + (pid ? " (" + plain(pid) + ")" : "") : pid ? "Process " + plain(pid) : "No process");
}
function addCounters(process) {
  for (const counter of told.counters)
    if (counter[0] == process && !counter.shown) {
      counter.shown = true;
      counter.sorted = counter.sorted || sortPoints(counter);
      addLine({counter}, GRAPH);
    }
}
function layOut() {
  const {tracks} = slices;
  lines = [];
  height = 0;
  for (const counter of told.counters) counter.shown = false;
  tracks.forEach((track, i) => {
    if (!i || tracks[i - 1].process != track.process) {
      if (i) addCounters(tracks[i - 1].process);
      addLine({process: track.process}, PROCESS);
      if (idle.has(track.process)) addLine({gaps: track.process}, HEAD + GAPS);
    }
    const rows = track.folded ? 0 : track.rows.length;
    addLine({track}, HEAD);
    track.y = height;
    addLine({rows: track}, rows * ROW + (track.summed ? 8 : 0) + 4);
  });
  if (tracks.length) addCounters(tracks[tracks.length - 1].process);
  told.counters.forEach((counter, i) => {
    if (counter.shown) return;
    addLine({process: counter[0]}, PROCESS);
    addCounters(counter[0]);
  });
  extents = told.files.map(() => [Infinity, 0]);
  for (const {y, size, process, track} of lines) {
    const extent = extents[process !== undefined ? told.processes[process][0] : track ? track.file : -1];
    if (extent) extent.splice(0, 2, Math.min(extent[0], y), Math.max(extent[1], y + size));
  }
  for (let k = 0; k < extents.length; k++)        // what stands below its last track, too
    extents[k][1] = Math.min(height, ...extents.map(([top]) => top).filter(top => top > extents[k][0]));
  const most = Math.max(240, Math.round(innerHeight * (innerWidth < 640 ? 0.6 : 0.64)));
  lanes.style.height = Math.min(most, height + RULER + 4) + "px";
}

// ---- Colours ----

function rgb(text) {
  const n = parseInt(text.slice(1), 16);
  return [n >> 16 & 255, n >> 8 & 255, n & 255];
}
const pack = ([r, g, b]) => (255 << 24 | b << 16 | g << 8 | r) >>> 0;
const mix = (a, b, part) => a.map((x, i) => Math.round(x + (b[i] - x) * part));

// By class; where all is of one class, by name.
const HUES = ["zone", "annotation", "python", "compute", "copy", "device_annotation",
  "communication"];
const oneClass = new Set(classOf).size < 2;
function hashOf(name) {
  let hash = 7;
  for (let k = 0; k < name.length && k < 60; k++) hash = (hash * 31 + name.charCodeAt(k)) % 9973;
  return hash;
}
const hueOf = (name, kind) => oneClass ? HUES[hashOf(name) % HUES.length] : CLASSES[kind];

// A little lighter or darker by name; what a search does not find fades.
function mixInks() {
  const page = rgb(color("card"));
  inks = new Uint32Array(names.length);
  names.forEach((name, i) => {
    const hash = hashOf(name), base = rgb(color(hueOf(rowText(i), classOf[i])));
    let ink = mix(base, hash % 2 ? [0, 0, 0] : [255, 255, 255], hash % 7 / 45);
    if (view.found) ink = view.found[i] ? rgb(color("found")) : mix(ink, page, 0.72);
    inks[i] = pack(ink);
  });
}

// ---- Drawing ----

let screen = null;                  // {width, height, scale, pixels, image}
let across = 1, drawn = 0;          // CSS pixels; things in this frame
function sizeScreen() {
  const scale = devicePixelRatio || 1, box = lanes.getBoundingClientRect();
  across = lanes.clientWidth;
  const width = Math.max(1, Math.round(across * scale));
  const tall = Math.max(1, Math.round(lanes.clientHeight * scale));
  if (screen && screen.width == width && screen.height == tall) return box;
  canvas.style.height = lanes.clientHeight + "px";
  canvas.width = width;
  canvas.height = tall;
  const image = new ImageData(width, tall);
  screen = {width, height: tall, scale, image, pixels: new Uint32Array(image.data.buffer)};
  $("lanes_size").style.height = Math.max(0, height + RULER - lanes.clientHeight) + "px";
  return box;
}
function fill(x0, x1, y0, y1, ink) {
  const {width, pixels} = screen;
  for (let y = Math.max(0, y0); y < Math.min(screen.height, y1); y++)
    pixels.fill(ink, y * width + x0, y * width + x1);
}

// One row of a track: its first line of pixels, then the others alike. Of slices that fall in one
// pixel the longest gives its colour.
function drawRow(row, y0, y1, texts) {
  const {start, dur, name} = slices, {from, to} = view, {width, scale, pixels} = screen;
  const k = width / (to - from), wide = 34 * scale, top = Math.max(0, y0), base = top * width;
  const bottom = Math.min(screen.height, y1);
  if (bottom <= top) return;
  for (let i = above(endOf, row.from, row.to, from); i < row.to && start[i] < to;) {
    const x = (start[i] - from) * k, end = x + dur[i] * k, x0 = Math.max(0, x | 0);
    if (x0 >= width) break;
    drawn++;
    if (end - x >= 2) {
      const x1 = Math.min(width, Math.max(x0 + 1, (end | 0) - (end - x > 4 ? 1 : 0)));
      pixels.fill(inks[name[i]], base + x0, base + x1);
      if (x1 - x0 >= wide && texts.length < 900) texts.push([i, x0, x1, y0]);
      i++;
      continue;
    }
    const after = startOfNextPixel(i, row.to, from + (x0 + 1) / k);
    pixels[base + x0] = inks[name[after - i > 1 ? longest(i, after) : i]];
    i = after;
  }
  for (let y = top + 1; y < bottom; y++) pixels.copyWithin(y * width, base, base + width);
}
// The first slice behind i that is not within the pixel that ends at this moment.
function startOfNextPixel(i, to, edge) {
  const {start} = slices;
  let step = 1;
  while (i + step < to && start[i + step] < edge) step *= 2;
  const after = Math.max(i + 1, above(n => start[n], i + (step >> 1), Math.min(to, i + step), edge));
  return after - i > 1 && endOf(after - 1) > edge ? after - 1 : after;     // it goes on in the next ones
}

// Where the shortest slices of a track are only summed: how much of each moment they take.
function drawSums(track, y, ink) {
  const [begin, size, bins] = track.bins, {scale, width} = screen;
  const x = at => Math.min(width, Math.max(0, Math.round((at - view.from) * width /
    (view.to - view.from))));
  bins.forEach((ns, b) => {
    const high = Math.ceil(7 * scale * Math.min(1, ns / size)), x0 = x(begin + b * size);
    if (ns) fill(x0, Math.max(x0 + 1, x(begin + (b + 1) * size)), y + Math.round(7 * scale) - high,
      y + Math.round(7 * scale), ink);
  });
}

function drawBack() {
  const {width, scale} = screen, band = pack(rgb(color("band"))), k = width / (view.to - view.from);
  screen.pixels.fill(pack(rgb(color("card"))));
  const y = at => Math.round((at - lanes.scrollTop + RULER) * scale), counts = [];
  slices.steps.forEach(i => {
    const [top, end] = extents[fileOf(i)], n = counts[fileOf(i)] = (counts[fileOf(i)] || 0) + 1;
    const x0 = Math.max(0, Math.round((slices.start[i] - view.from) * k));
    const x1 = Math.min(width, Math.round((endOf(i) - view.from) * k));
    if (n % 2 && x1 - x0 > 1) fill(x0, x1, y(top), y(end), band);
  });
}

function drawTracks(texts) {
  const top = lanes.scrollTop, {scale} = screen, tall = lanes.clientHeight - RULER;
  const y = at => Math.round((at - top + RULER) * scale);
  const sums = pack(rgb(color("soft")));
  const first = Math.max(0, above(n => lines[n].y + lines[n].size, 0, lines.length, top));
  for (let n = first; n < lines.length && lines[n].y < top + tall; n++) {
    const track = lines[n].rows, {gaps, counter} = lines[n];
    if (counter) drawValues(counter, y(lines[n].y));
    if (gaps !== undefined)
      drawGaps(idle.get(gaps), y(lines[n].y + HEAD), y(lines[n].y + HEAD + GAPS - 4));
    if (!track) continue;
    if (!track.folded) track.rows.forEach((row, d) => {
      const at = track.y + d * ROW;
      if (at + ROW > top && at < top + tall) drawRow(row, y(at), y(at + ROW - 1), texts);
    });
    if (track.summed) drawSums(track, y(lines[n].y + lines[n].size - 11), sums);
  }
}

function cut(text, room) {
  const fits = Math.floor(room / 6.1);
  return text.length <= fits ? text : fits < 3 ? "" : text.slice(0, fits - 1) + "\u2026";
}
// A name as far as it fits, by how wide its letters are.
const widths = new Float32Array(names.length);
function fitted(g, name, room) {
  if (!widths[name]) widths[name] = letterOf(g, names[name]);
  return fittedText(g, names[name], room, widths[name]);
}
const letterOf = (g, text) => g.measureText(text.slice(0, 40)).width / Math.min(40, text.length) || 1;
function fittedText(g, text, room, letter = letterOf(g, text)) {
  if (text.length * letter <= room) return text;
  const fits = Math.floor((room - 10) / letter);
  return fits < 2 ? "" : text.slice(0, fits) + "\u2026";
}
const xOf = at => (at - view.from) * across / (view.to - view.from);
const yOf = at => at - lanes.scrollTop + RULER;

function drawTexts(g, texts) {
  const {scale} = screen;
  g.fillStyle = root.dataset.theme == "dark" ? "#fff" : "#15171a";
  g.font = "11px system-ui, sans-serif";
  for (const [i, x0, x1, y0] of texts)
    g.fillText(fitted(g, slices.name[i], (x1 - x0) / scale - 6), x0 / scale + 4,
      y0 / scale + ROW / 2);
}

// By their times: a file may have them in any order.
function sortPoints([, , , points]) {
  const order = points.map((n, i) => i).filter(i => i % 2 == 0).sort((a, b) => points[a] - points[b]);
  const values = order.map(i => points[i + 1]);
  return {at: order.map(i => points[i]), values, least: values.reduce((a, b) => Math.min(a, b), 0),
    most: values.reduce((a, b) => Math.max(a, b), -Infinity)};
}
// In each column of pixels from the least of its values to the most; between them the last one.
function drawValues(counter, top) {
  const {at, values, least, most} = counter.sorted;
  const {width, scale} = screen, k = width / (view.to - view.from), n = at.length;
  const ink = pack(rgb(color("memory"))), thick = Math.max(1, Math.round(1.6 * scale));
  const size = (GRAPH - 8) * scale, base = top + 4 * scale + size;
  const y = v => Math.round(base - (most > least ? (v - least) / (most - least) * size : 0));
  const column = moment => Math.max(0, (moment - view.from) * k | 0);
  let i = Math.max(0, above(m => at[m], 0, n, view.from) - 1), last = values[i], end = column(at[i]);
  while (i < n && at[i] <= view.to) {
    const x = column(at[i]);
    let low = last, high = last;
    fill(end, x, y(last), y(last) + thick, ink);
    for (; i < n && column(at[i]) == x; i++) {
      last = values[i];
      low = Math.min(low, last);
      high = Math.max(high, last);
    }
    if (x < width) fill(x, x + 1, y(high), y(low) + thick, ink);
    end = Math.min(width, x + 1);
    drawn++;
  }
  if (n && end < width) fill(end, width, y(last), y(last) + thick, ink);
}

function drawCounter(g, {sorted: {least, most}, 1: name, 2: every, 3: points}, y, width) {
  const text = cut(plain(name) + (points.length ? ": " + count(least) + " to " + count(most) : "") +
    (every > 1 ? " (every " + count(every) + "th value)" : ""), width - 12);
  drawTitle(g, text, y + 10, color("ink"));
}

function drawHeads(g, width) {
  const top = lanes.scrollTop, tall = lanes.clientHeight;
  const first = above(n => lines[n].y + lines[n].size, 0, lines.length, top);
  for (let n = first; n < lines.length && lines[n].y < top + tall; n++) {
    const {process, track, counter, gaps, y} = lines[n], at = yOf(y);
    if (process !== undefined) {
      g.fillStyle = color("track");
      g.fillRect(0, at + 2, width, PROCESS - 4);
      g.fillStyle = color("ink");
      g.font = "600 12px system-ui, sans-serif";
      g.fillText(cut(titleOf(process), width - 10), 6, at + PROCESS / 2);
    } else if (track) {
      g.font = "12px system-ui, sans-serif";
      const size = track.to - track.from, sums = track.summed ? " + " + count(track.summed) +
        " short" : "";
      if (track.marks.length) drawMarks(g, track, at);
      drawTitle(g, (track.folded ? "\u25b8 " : "\u25be ") + cut(plain(track.title) + (size || sums
        ? " \u2013 " + count(size) + sums + (size == 1 && !sums ? " slice" : " slices") : ""),
      width - 24), at + HEAD / 2 + 1, color("soft"));
    } else if (gaps !== undefined) {
      drawGapHead(g, idle.get(gaps), at, width);
    } else if (counter) {
      g.font = "11px system-ui, sans-serif";
      drawCounter(g, counter, at, width);
    }
  }
}
function drawMarks(g, {marks}, y) {
  let last = -9;
  g.beginPath();
  for (let n = above(k => marks[k][0], 0, marks.length, view.from); n < marks.length; n++) {
    const x = xOf(marks[n][0]);
    if (x > across) break;
    if (x - last < 3) continue;
    last = x;
    drawn++;
    g.moveTo(x - 4, y + 5);
    g.lineTo(x + 4, y + 5);
    g.lineTo(x, y + HEAD - 3);
  }
  g.fillStyle = color("found");
  g.fill();
}
// A text that can be read whatever is drawn behind it.
function drawTitle(g, text, y, ink) {
  g.fillStyle = color("card");
  g.globalAlpha = 0.8;
  g.fillRect(3, y - 8, g.measureText(text).width + 6, 15);
  g.globalAlpha = 1;
  g.fillStyle = ink;
  g.fillText(text, 6, y);
}

function drawRuler(g, width) {
  g.fillStyle = color("card");
  g.fillRect(0, 0, width, RULER);
  g.fillStyle = color("soft");
  g.font = "11px system-ui, sans-serif";
  const list = ticks(view.from, view.to, Math.max(2, Math.floor(width / 85)));
  for (const t of list) {
    g.fillRect(xOf(t), RULER - 6, 1, 6);
    const text = axisMark(t, list), room = width - g.measureText(text).width - 2;
    if (xOf(t) + 4 <= room) g.fillText(text, xOf(t) + 4, 9);
  }
  g.fillRect(0, RULER - 1, width, 1);
  g.fillStyle = color("accent");
  const first = slices.steps.length ? fileOf(slices.steps[0]) : 0;   // those of the others are bands
  slices.steps.forEach(i => {
    const x0 = Math.max(0, xOf(slices.start[i])), x1 = Math.min(width, xOf(endOf(i)));
    if (x1 - x0 < 2 || fileOf(i) != first) return;
    g.fillRect(x0, RULER - 3, x1 - x0 - 1, 3);
    if (x1 - x0 > 60) g.fillText("#" + names[slices.name[i]].slice(13), x0 + 2, RULER - 10);
  });
}
// Near together, marks need more digits than time() has.
function axisMark(t, list) {
  const step = list.length > 1 ? list[1] - list[0] : t, us = t / 1e3;
  const size = Math.abs(us), [scale, unit] = size >= 1e6 ? [1e6, " s"] : size >= 1e3
    ? [1e3, " ms"] : [1, " \u00b5s"];
  const digits = Math.max(0, Math.min(9, Math.ceil(-Math.log10(step / 1e3 / scale) - 1e-9)));
  return (us / scale).toFixed(digits) + unit;
}

function drawChosen(g, width) {
  const i = view.chosen;
  if (i < 0) return;
  const box = boxOf(i);
  g.strokeStyle = color("ink");
  g.lineWidth = 2;
  if (box) g.strokeRect(box.x, box.y, Math.max(3, box.width), ROW - 1);
  for (const [from, to] of arrowsOf(i)) drawArrow(g, from, to);
}
function boxOf(i) {
  const track = slices.tracks[slices.track[i]];
  if (track.folded || track.y === undefined) return null;
  return {x: xOf(slices.start[i]), width: xOf(endOf(i)) - xOf(slices.start[i]),
    y: yOf(track.y + rowOf(i) * ROW)};
}
function drawArrow(g, from, to) {
  const a = boxOf(from), b = boxOf(to);
  if (!a || !b) return;
  const x = a.x + a.width, y = a.y + ROW / 2, mid = b.y + ROW / 2;
  const bend = Math.max(20, Math.min(160, Math.abs(b.x - x) / 2));
  g.strokeStyle = g.fillStyle = color("found");
  g.lineWidth = 1.6;
  g.beginPath();
  g.moveTo(x, y);
  g.bezierCurveTo(x + bend, y, b.x - bend, mid, b.x, mid);
  g.stroke();
  g.beginPath();
  g.moveTo(b.x, mid);
  g.lineTo(b.x - 7, mid - 4);
  g.lineTo(b.x - 7, mid + 4);
  g.fill();
}
function drawMeasured(g, width) {
  if (!view.measured) return;
  const [from, to] = view.measured, x0 = xOf(from), x1 = xOf(to);
  g.fillStyle = color("accent");
  g.globalAlpha = 0.14;
  g.fillRect(x0, 0, x1 - x0, lanes.clientHeight);
  g.globalAlpha = 1;
  g.fillRect(x0, 0, 1, lanes.clientHeight);
  g.fillRect(x1, 0, 1, lanes.clientHeight);
  const text = time((to - from) / 1e3), size = g.measureText(text).width;
  const x = Math.max(4, Math.min(width - size - 12, (x0 + x1 - size) / 2));
  g.fillRect(x - 6, 2, size + 12, 18);
  g.fillStyle = color("card");
  g.fillText(text, x, 11);
}

let asked = 0;
function paint() {
  asked = drawn = 0;
  const began = performance.now(), texts = [], g = canvas.getContext("2d");
  if (!slices.tracks || !lanes.clientWidth) return;
  sizeScreen();
  if (!inks) mixInks();
  drawBack();
  drawTracks(texts);
  g.setTransform(1, 0, 0, 1, 0, 0);
  g.putImageData(screen.image, 0, 0);
  g.setTransform(screen.scale, 0, 0, screen.scale, 0, 0);
  g.textBaseline = "middle";
  drawTexts(g, texts);
  drawHeads(g, lanes.clientWidth);
  drawChosen(g, lanes.clientWidth);
  drawRuler(g, lanes.clientWidth);
  drawMeasured(g, lanes.clientWidth);
  view.frames.push(performance.now() - began);
  view.drawn.push(drawn + texts.length);
  for (const list of [view.frames, view.drawn]) if (list.length > 1000) list.splice(0, 500);
}
function repaint() { if (!asked) asked = requestAnimationFrame(paint); }

// ---- Moving ----

function show(from, to) {
  const least = 20, size = Math.max(least, Math.min(to - from, (whole.to - whole.from) * 1.02));
  const middle = (from + to) / 2;
  let begin = to - from == size ? from : middle - size / 2;
  begin = Math.max(whole.from - size * 0.5, Math.min(begin, whole.to - size * 0.5));
  if (size >= whole.to - whole.from) begin = whole.from - (size - (whole.to - whole.from)) / 2;
  view.from = begin;
  view.to = begin + size;
  repaint();
}
function zoom(factor, x) {
  const at = view.from + (view.to - view.from) * x / lanes.clientWidth;
  show(at - (at - view.from) * factor, at + (view.to - at) * factor);
}
function move(part) {
  const by = (view.to - view.from) * part;
  show(view.from + by, view.to + by);
}
function showWhole() {
  const around = range ? [range.from, range.to] : [whole.from, whole.to];
  const room = (around[1] - around[0]) * 0.01;
  show(around[0] - room, around[1] + room);
}
const isWhole = () => view.to - view.from >= (whole.to - whole.from) * 1.015;

function at(e) {
  const box = canvas.getBoundingClientRect();
  return [e.clientX - box.left, e.clientY - box.top];
}
function lineAt(y) {
  const place = y - RULER + lanes.scrollTop;
  const n = above(k => lines[k].y + lines[k].size, 0, lines.length, place);
  return y < RULER || n >= lines.length ? null : lines[n];
}
function sliceAt(x, y) {
  const line = lineAt(y), track = line && line.rows;
  if (!track || track.folded) return -1;
  const row = track.rows[Math.floor((y - RULER + lanes.scrollTop - track.y) / ROW)];
  if (!row) return -1;
  const ns = view.from + (view.to - view.from) * x / lanes.clientWidth;
  const near = (view.to - view.from) / lanes.clientWidth * 2;
  const i = above(endOf, row.from, row.to, ns - near);
  if (i >= row.to || slices.start[i] > ns + near) return -1;
  const next = above(n => slices.start[n], i, row.to, ns + near);
  return longest(i, Math.max(i + 1, next));
}

// What is under two fingers stays under them.
function pinch(before, now) {
  const apart = ([a, b]) => Math.max(16, Math.hypot(a[0] - b[0], a[1] - b[1]));
  const middle = ([a, b]) => (a[0] + b[0]) / 2 / lanes.clientWidth, size = view.to - view.from;
  const wide = size * apart(before) / apart(now);
  const from = view.from + size * middle(before) - wide * middle(now);
  drag.moved = true;
  show(from, from + wide);
}

const fingers = new Map();
let drag = null;
canvas.addEventListener("wheel", e => {
  const [x] = at(e), sideways = Math.abs(e.deltaX) > Math.abs(e.deltaY) || e.shiftKey;
  if (!sideways && e.deltaY > 0 && isWhole()) return;      // the page scrolls on
  e.preventDefault();
  if (sideways) move((e.deltaX || e.deltaY) / lanes.clientWidth);
  else zoom(Math.exp(Math.max(-80, Math.min(80, e.deltaY)) / (e.ctrlKey ? 60 : 250)), x);
}, {passive: false});
canvas.addEventListener("pointerdown", e => {
  const [x, y] = at(e);
  if (e.button) return;
  fingers.set(e.pointerId, [x, y]);
  canvas.setPointerCapture(e.pointerId);
  const measures = e.shiftKey || y < RULER;
  drag = {x, y, from: view.from, to: view.to, top: lanes.scrollTop, moved: false, measures};
});
canvas.addEventListener("pointermove", e => {
  const [x, y] = at(e);
  if (!fingers.has(e.pointerId)) return point(e, x, y);
  const before = [...fingers.values()];
  fingers.set(e.pointerId, [x, y]);
  if (before.length == 2 && drag) return pinch(before, [...fingers.values()]);
  if (!drag || (!drag.moved && Math.hypot(x - drag.x, y - drag.y) < 4)) return;
  drag.moved = true;
  const ns = (view.to - view.from) / lanes.clientWidth;
  if (drag.measures) {
    const ends = [drag.x, x].map(p => view.from + p * ns).sort((a, b) => a - b);
    view.measured = ends;
    return repaint();
  }
  canvas.classList.add("dragging");
  if (e.pointerType != "touch") lanes.scrollTop = drag.top - (y - drag.y);
  show(drag.from - (x - drag.x) * ns, drag.to - (x - drag.x) * ns);
});
function letGo(e) {
  const [x, y] = at(e);
  fingers.delete(e.pointerId);
  canvas.classList.remove("dragging");
  if (drag && !drag.moved && e.type == "pointerup") click(x, y);
  else if (drag && drag.measures && view.measured) setRange("measured");
  drag = null;
}
canvas.addEventListener("pointerup", letGo);
canvas.addEventListener("pointercancel", letGo);
canvas.addEventListener("dblclick", e => {
  const i = sliceAt(...at(e));
  if (i >= 0) fit(i);
});
canvas.addEventListener("pointerleave", e => tip(e, ""));

function click(x, y) {
  const line = lineAt(y);
  canvas.focus({preventScroll: true});
  if (y < RULER || !line) return;
  if (line.track) {
    line.track.folded = !line.track.folded;
    layOut();
    screen = null;
    return repaint();
  }
  const gap = line.gaps !== undefined && gapAt(line, x);
  choose(gap ? gap.before : sliceAt(x, y));
}
function point(e, x, y) {
  const i = sliceAt(x, y), line = lineAt(y);
  const gap = line && line.gaps !== undefined && gapAt(line, x);
  if (gap) return tip(e, "Idle for " + time((gap.to - gap.from) / 1e3) + "\n" +
    gapTexts(gap.ns).join("\n") + "\nbefore " + names[slices.name[gap.before]]);
  if (i >= 0) return tip(e, cut(names[slices.name[i]], 1200) + "\n" + time(slices.dur[i] / 1e3) +
    " at " + time(slices.start[i] / 1e3));
  const near = line && line.track && line.track.marks.find(([t]) => Math.abs(xOf(t) - x) < 4);
  tip(e, near ? near[1] + "\nat " + time(near[0] / 1e3) : "");
}
lanes.addEventListener("scroll", repaint);

// So that a slice can be seen: its track, its time, not smaller than some pixels.
function reveal(i) {
  const track = slices.tracks[slices.track[i]], size = view.to - view.from;
  if (track.folded) {
    track.folded = false;
    layOut();
    screen = null;
  }
  const y = track.y + rowOf(i) * ROW, room = lanes.clientHeight - RULER;
  if (y < lanes.scrollTop || y + ROW * 2 > lanes.scrollTop + room)
    lanes.scrollTop = Math.max(0, y - room / 3);
  const start = slices.start[i], dur = slices.dur[i];
  if (start < view.from || start + dur > view.to || dur / size < 6 / lanes.clientWidth) {
    const wide = dur / size < 6 / lanes.clientWidth ? Math.max(dur * 40, 200)
      : Math.max(size, dur * 1.2);
    show(start + dur / 2 - wide / 2, start + dur / 2 + wide / 2);
  }
  repaint();
}
function fit(i) {
  reveal(i);
  const room = Math.max(10, slices.dur[i] * 0.08);
  show(slices.start[i] - room, endOf(i) + room);
}

const KEYS = {
  w: () => zoom(0.7, lanes.clientWidth / 2), s: () => zoom(1 / 0.7, lanes.clientWidth / 2),
  a: () => move(-0.15), d: () => move(0.15), f: () => view.chosen >= 0 && fit(view.chosen),
  Escape: () => { choose(-1); view.measured = null; showWhole(); },
  Enter: () => stepMatch(1), n: () => stepMatch(1), N: () => stepMatch(-1),
  ArrowLeft: () => neighbour(-1), ArrowRight: () => neighbour(1),
  ArrowUp: () => goTo(view.chosen >= 0 ? slices.parent[view.chosen] : -1),
  ArrowDown: () => goTo(view.chosen >= 0 ? childrenOf(view.chosen)[0] : firstSeen()),
  PageUp: () => { lanes.scrollTop -= lanes.clientHeight / 2; },
  PageDown: () => { lanes.scrollTop += lanes.clientHeight / 2; }
};
canvas.addEventListener("keydown", e => {
  const act = KEYS[e.key] || KEYS[e.key.toLowerCase()];
  if (!act || e.ctrlKey || e.metaKey || e.altKey) return;
  e.preventDefault();
  act();
});
function goTo(i) {
  if (i === undefined || i < 0) return;
  choose(i);
  reveal(i);
}
function firstSeen() {
  for (const {rows} of lines) {
    if (!rows || !rows.rows.length) continue;
    const i = above(endOf, rows.rows[0].from, rows.rows[0].to, view.from);
    if (i < rows.rows[0].to) return i;
  }
  return -1;
}
function neighbour(by) {
  const i = view.chosen;
  if (i < 0) return goTo(firstSeen());
  const row = slices.tracks[slices.track[i]].rows[rowOf(i)];
  if (i + by >= row.from && i + by < row.to) goTo(i + by);
}
