// ---- Memory over time: in the range, and what stands when that begins ----

function partOf({file, points}) {
  const span = range ? range.files[file] : [-Infinity, Infinity];
  if (!span) return [];
  const first = above(n => points[n][0], 0, points.length, span[0]);
  const last = above(n => points[n][0], first, points.length, span[1]);
  const before = first ? [[span[0], points[first - 1][1], points[first - 1][2]]] : [];
  return before.concat(points.slice(first, last));
}
function memoryLine(g, points, column, stroke, dash, x, y, end) {
  g.strokeStyle = stroke;
  g.lineWidth = 1.6;
  g.setLineDash(dash);
  g.beginPath();
  points.forEach((p, i) => {
    if (i) g.lineTo(x(p[0]), y(points[i - 1][column]));
    g[i ? "lineTo" : "moveTo"](x(p[0]), y(p[column]));
  });
  if (points.length) g.lineTo(x(end), y(points[points.length - 1][column]));
  g.stroke();                       // nothing changes any more
  g.setLineDash([]);
}
// Of each line its part in the range; what they are drawn between.
function memoryParts() {
  const parts = data.memory.map(m => Object.assign({}, m, {points: partOf(m)}));
  const times = parts.flatMap(({points}) => points.length
    ? [points[0][0], points[points.length - 1][0]] : []);
  const around = range || {from: Math.min(whole.from, ...times), to: Math.max(whole.to, ...times)};
  return {parts, from: around.from, to: around.to};
}
const mostOf = (points, column) => points.reduce((most, p) => Math.max(most, p[column]), 0);

function memory() {
  $("memory_section").hidden = !data.memory.length || !slices.tracks;
  if ($("memory_section").hidden) return;
  const canvas = $("memory"), high = 180, {parts, from, to} = memoryParts();
  const [g, width] = prepare(canvas, high + 24);
  const most = Math.max(1, ...parts.map(({points}) =>
    Math.max(mostOf(points, 1), mostOf(points, 2))));
  const y = v => high - v / most * (high - 14), x = at => (at - from) / (to - from) * width;
  g.strokeStyle = color("line");
  g.fillStyle = color("soft");
  for (const part of [0, 0.5, 1]) {
    g.beginPath();
    g.moveTo(0, y(most * part));
    g.lineTo(width, y(most * part));
    g.stroke();
    g.fillText(bytes(most * part), 2, y(most * part) - (part ? 7 : 9));
  }
  parts.forEach((m, n) => {
    const end = range && range.files[m.file] ? range.files[m.file][1] : to;
    const ink = color(memoryInk(m, n));
    memoryLine(g, m.points, 1, ink, [], x, y, end);
    if (m.device) memoryLine(g, m.points, 2, ink, [4, 4], x, y, end);
  });
  memoryLegend(parts);
  axis(g, width, high + 12, from, to);
  canvas.onmousemove = e => {
    const at = from + e.offsetX / canvas.clientWidth * (to - from);
    tip(e, time(at / 1e3) + parts.map(m => {
      const n = above(k => m.points[k][0], 0, m.points.length, at);
      return n ? "\n" + memoryName(m) + ": " + bytes(m.points[n - 1][1]) : "";
    }).join(""));
  };
}
// Of a trace the host's and the device's; of several, and of more devices, in turn.
function memoryInk(m, n) {
  const inks = ["gpu", "cpu", "memory", "launch", "found", "synchronize"];
  return data.memory.filter(other => other.device == m.device).length < 2
    ? m.device ? "gpu" : "memory" : inks[n % inks.length];
}
const memoryName = m => fileText(m.file) + plain(m.name);

function memoryLegend(parts) {
  $("memory_legend").replaceChildren(...parts.map((m, n) => {
    const item = element("span"), dot = element("i", "", "dot"), {points} = m;
    const text = memoryName(m) + (points.length
      ? ": most allocated " + bytes(mostOf(points, 1)) : ": nothing") +
      (m.device ? ", dashed: reserved" + (points.length ? " " + bytes(mostOf(points, 2)) : "") : "");
    dot.style.background = "var(--" + memoryInk(m, n) + ")";
    item.append(dot, document.createTextNode(text));
    return item;
  }));
}
function axis(g, width, y, from, to) {
  const list = ticks(from, to, Math.max(2, Math.floor(width / 130)));
  g.fillStyle = color("soft");
  for (const t of list) {
    const text = axisMark(t, list), x = (t - from) / (to - from) * width;
    g.fillText(text, Math.min(x, width - g.measureText(text).width), y);
  }
}
