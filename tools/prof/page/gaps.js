// ---- When a device was idle, and why: by the rules of prof gaps, see its --help ----

const CAUSES = ["host", "synchronize", "launch", "wait", "turnaround", "unknown"];
const SHORT_NS = 10000;
const idle = new Map();             // process -> {gaps, shown}; gaps by their start
let waits = null;                   // of each track, the calls that wait for the device

const waitsForDevice = name => name.includes("Synchronize") ||
  (name.includes("Memcpy") && !name.includes("Async") && !name.includes("Node"));

// Of each track, the calls that return only when the device has come to some point.
function findWaits() {
  const is = names.map((name, k) => classOf[k] == RUNTIME && waitsForDevice(name));
  const waits = slices.tracks.map(() => []);
  for (let i = 0; i < slices.count; i++) if (is[slices.name[i]]) waits[slices.track[i]].push(i);
  for (const list of waits) list.sort((a, b) => slices.start[a] - slices.start[b]);
  return waits;
}
// How much of [from, to) a track spent in such calls.
function waited(list, from, to) {
  let sum = 0, k = above(n => slices.start[list[n]], 0, list.length, from);
  for (k = Math.max(0, k - 1); k < list.length && slices.start[list[k]] < to; k++) {
    const begin = Math.max(from, slices.start[list[k]]), end = Math.min(to, endOf(list[k]));
    if (end <= begin) continue;
    sum += end - begin;
    from = end;
  }
  return sum;
}

function divide(gap) {
  const launch = slices.launch[gap.before], ns = gap.ns, long = gap.to - gap.from;
  const known = launch >= 0 && classOf[slices.name[launch]] == RUNTIME;
  if (!known) {
    ns[5] = long;
  } else if (slices.start[launch] <= gap.from) {
    ns[long <= SHORT_NS ? 4 : 3] = long;
  } else {
    const at = Math.min(gap.to, slices.start[launch]);
    ns[1] = waited(waits[slices.track[launch]], gap.from, at);
    ns[0] = at - gap.from - ns[1];
    ns[2] = gap.to - at;
  }
  gap.cause = ns.indexOf(Math.max(...ns));
}

function gapsOf(works) {
  const gaps = [], sums = CAUSES.map(() => 0);
  if (!works.length) return {gaps, sums, from: 0, to: 0};
  let last = works[0];
  for (const next of works) {
    if (slices.start[next] > endOf(last)) {
      const gap = {from: endOf(last), to: slices.start[next], before: next, ns: CAUSES.map(() => 0)};
      divide(gap);
      gap.ns.forEach((ns, cause) => { sums[cause] += ns; });
      gaps.push(gap);
    }
    if (endOf(next) > endOf(last)) last = next;
  }
  return {gaps, sums, from: slices.start[works[0]], to: endOf(last)};
}

// Where slices are only summed, works are missing: then no gap is told.
function findGaps() {
  idle.clear();
  if (told.summed[0] || !data.device) return;
  waits = findWaits();
  for (const [process, list] of deviceWorks()) {
    const all = gapsOf(list);
    idle.set(process, {gaps: all.gaps, all, shown: all});
  }
}
// The sums that are shown: of the works that begin in the range.
function limitGaps() {
  for (const [process, of] of idle)
    of.shown = range ? gapsOf(deviceWorks().get(process).filter(inRange)) : of.all;
}

function drawGaps({gaps}, y0, y1) {
  const {width} = screen, k = width / (view.to - view.from);
  const ink = CAUSES.map(name => pack(rgb(color(name))));
  for (let i = above(n => gaps[n].to, 0, gaps.length, view.from); i < gaps.length;) {
    const gap = gaps[i], x0 = Math.max(0, (gap.from - view.from) * k | 0);
    if (gap.from >= view.to || x0 >= width) break;
    const x1 = Math.min(width, Math.max(x0 + 1, (gap.to - view.from) * k | 0));
    fill(x0, x1, y0, y1, ink[gap.cause]);
    i = Math.max(i + 1, above(n => gaps[n].to, i + 1, gaps.length, view.from + (x1 + 0.5) / k));
  }
}
function gapTexts(ns, whole) {
  return CAUSES.map((name, k) => [name, ns[k]]).filter(([, n]) => n > 0)
    .map(([name, n]) => name + " " + (whole ? (100 * n / whole).toFixed(1) + " %" : time(n / 1e3)));
}
function drawGapHead(g, {shown: {sums, from, to}}, y, width) {
  g.font = "12px system-ui, sans-serif";
  g.fillStyle = color("soft");
  const texts = gapTexts(sums, Math.max(1, to - from));
  g.fillText(cut((range ? range.text + ": idle" : "Idle") + ", by cause: " +
    (texts.join(", ") || "never"), width - 8), 6, y + HEAD / 2 + 1);
}
function gapAt(line, x) {
  const {gaps} = idle.get(line.gaps), ns = view.from + (view.to - view.from) * x /
    lanes.clientWidth, near = (view.to - view.from) / lanes.clientWidth;
  const i = above(n => gaps[n].to, 0, gaps.length, ns - near);
  return i < gaps.length && gaps[i].from <= ns + near ? gaps[i] : null;
}
