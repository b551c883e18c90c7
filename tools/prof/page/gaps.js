// ---- When a device was idle, and why: as prof gaps has it, see its --help ----

const CAUSES = ["host", "synchronize", "launch", "wait", "turnaround", "unknown"];
const idle = new Map();             // process -> {gaps, all, shown}; gaps by their start

// Each as its work, ns by cause. None where slices are only summed.
function readGaps(n) {
  for (let before = 0; n.more(); ) {
    before += n.signed();
    const ns = CAUSES.map(() => n.take()), to = slices.start[before];
    const {process} = slices.tracks[slices.track[before]];
    if (!idle.has(process)) idle.set(process, {gaps: []});
    idle.get(process).gaps.push({from: to - ns.reduce((a, b) => a + b), to, before, ns,
      cause: ns.indexOf(Math.max(...ns))});
  }
  for (const [process, of] of idle) of.all = of.shown = idleSums(of, deviceWorks().get(process));
}
// Of the gaps between these works.
function idleSums({gaps}, works) {
  const sums = CAUSES.map(() => 0), from = works.length ? slices.start[works[0]] : 0;
  const last = works.length ? slices.start[works[works.length - 1]] : from;
  for (const gap of gaps)
    if (gap.from >= from && gap.to <= last) gap.ns.forEach((ns, cause) => { sums[cause] += ns; });
  return {sums, from, to: works.reduce((end, i) => Math.max(end, endOf(i)), from)};
}
// The sums that are shown: of the works that begin in the range.
function limitGaps() {
  for (const [process, of] of idle)
    of.shown = range ? idleSums(of, deviceWorks().get(process).filter(inRange)) : of.all;
}

function drawGaps({gaps}, y0, y1) {
  const {width} = screen, k = width / (view.to - view.from);
  const ink = CAUSES.map(name => pack(rgb(color(name))));
  for (let i = above(n => gaps[n].to, 0, gaps.length, view.from); i < gaps.length;) {
    const gap = gaps[i], x0 = Math.max(0, (gap.from - view.from) * k | 0);
    if (gap.from >= view.to || x0 >= width) break;
    const x1 = Math.min(width, Math.max(x0 + 1, (gap.to - view.from) * k | 0));
    fill(x0, x1, y0, y1, ink[gap.cause]);
    drawn++;
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
