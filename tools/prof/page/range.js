// ---- The range that all views show: the whole, a step, what was measured ----

let range = null;   // {of: [from, to] by file, null where it has none; from, to: of all; text}; ns

const fileOf = i => slices.tracks[slices.track[i]].file;
const within = (file, ns) => !range ||
  (range.of[file] !== null && ns >= range.of[file][0] && ns < range.of[file][1]);
const inRange = i => within(fileOf(i), slices.start[i]);

// A step of all files: of a rank's every process, too, where they are in one file and run it at
// the same time. A name that comes again later is another step.
function findSteps() {
  const known = new Map(), list = [];
  for (const i of [...slices.steps].sort((a, b) => slices.start[a] - slices.start[b])) {
    const name = names[slices.name[i]], file = fileOf(i), begin = slices.start[i], end = endOf(i);
    const same = known.get(name) || [];
    known.set(name, same);
    let step = same.find(one => one.of[file] && begin < one.of[file][1]) ||
      same.find(one => !one.of[file]);
    if (!step) {
      step = {name, of: told.files.map(() => null), least: Infinity, most: 0};
      same.push(step);
      list.push(step);
    }
    step.of[file] = step.of[file] ? [step.of[file][0], Math.max(step.of[file][1], end)] : [begin, end];
    step.least = Math.min(step.least, end - begin);
    step.most = Math.max(step.most, end - begin);
  }
  return list;
}
function stepText({name, of, least, most}) {
  const files = of.filter(Boolean).length, [a, b] = [time(least / 1e3), time(most / 1e3)];
  return name + ", " + (a == b ? a : a + " to " + b) +
    (files < of.length ? ", in " + files + " of " + of.length + " files" : "");
}
function rangeOf(text) {
  const [a, b] = view.measured || [0, 0];
  if (text == "measured" && b > a)
    return {of: told.files.map(() => [a, b]), from: a, to: b,
      text: "the measured " + time((b - a) / 1e3)};
  const step = text == "" ? undefined : steps[Number(text)];
  if (!step) return null;
  const there = step.of.filter(Boolean);
  return {of: step.of, from: Math.min(...there.map(r => r[0])),
    to: Math.max(...there.map(r => r[1])), text: step.name};
}
function setRange(text) {
  range = rangeOf(text);
  fillRange(text);
  table = range ? rowsOfRange() : {rows: data.rows, sums: data.sums};
  fillTable();
  limitGaps();
  devices();
  fillRanks();
  growFlame();
  flame();
  memory();
  if (!$("calls").hidden) fillCalls();
  for (const e of document.querySelectorAll(".of_range"))
    e.textContent = range ? "what begins in: " + range.text : "";
  $("range_of_memory").textContent = range ? "in: " + range.text : "";
  if (text != "measured") {
    view.measured = null;
    showWhole();
  }
}
let steps = [];
function fillRange(text) {
  const options = [["", "the whole trace"], ...steps.map((step, n) => [String(n), stepText(step)])];
  if (view.measured) options.push(["measured", "the measured time"]);
  $("range").replaceChildren(...options.slice(0, 2000).map(([value, name]) =>
    new Option(name, value, false, value == text)));
  $("range_label").hidden = options.length < 2;
}
$("range").onchange = () => setRange($("range").value);
