// ---- The range that all views show: the whole, a step, what was measured ----

let range = null;   // {of: [from, to] by process, files: by file (null: none); from, to; text}; ns

const fileOf = i => slices.tracks[slices.track[i]].file;
const isIn = (span, ns) => span !== null && ns >= span[0] && ns < span[1];
const within = (file, ns) => !range || isIn(range.files[file], ns);
const inProcess = (process, ns) => !range || isIn(range.of[process], ns);
const inRange = i => inProcess(slices.tracks[slices.track[i]].process, slices.start[i]);
const join = (a, b) => a && b ? [Math.min(a[0], b[0]), Math.max(a[1], b[1])] : a || b;

// A step of all processes of all files: the first of that name in each, on whatever threads; where
// the name comes again later, it is another step.
function findSteps() {
  const known = new Map(), list = [], over = new Map();   // over: so many are, in a process
  for (const i of [...slices.steps].sort((a, b) => slices.start[a] - slices.start[b])) {
    const name = names[slices.name[i]], {process} = slices.tracks[slices.track[i]];
    const same = known.get(name) || [], own = [slices.start[i], endOf(i)], ended = process + name;
    const isOver = ({of}) => of[process] && own[0] >= of[process][1];
    known.set(name, same);
    let n = over.get(ended) || 0;
    while (n < same.length && isOver(same[n])) n++;
    over.set(ended, n);
    let step = same[n];
    if (!step) {
      step = {name, of: told.processes.map(() => null), least: Infinity, most: 0};
      same.push(step);
      list.push(step);
    }
    step.of[process] = join(step.of[process], own);
    step.least = Math.min(step.least, own[1] - own[0]);
    step.most = Math.max(step.most, own[1] - own[0]);
  }
  return list;
}
// The process whose calls launch what a device's process does; -1: not known.
function hostOf(process) {
  const work = (deviceWorks().get(process) || []).find(i => slices.launch[i] >= 0);
  return work === undefined ? -1 : slices.tracks[slices.track[slices.launch[work]]].process;
}
const byFile = of => told.files.map((name, file) => of.reduce((span, one, process) =>
  told.processes[process][0] == file ? join(span, one) : span, null));
function stepText({name, of, least, most}) {
  const files = byFile(of).filter(Boolean).length, [a, b] = [time(least / 1e3), time(most / 1e3)];
  return name + ", " + (a == b ? a : a + " to " + b) +
    (files < told.files.length ? ", in " + files + " of " + told.files.length + " files" : "");
}
function rangeOf(text) {
  const [a, b] = view.measured || [0, 0];
  if (text == "measured" && b > a)
    return {of: told.processes.map(() => [a, b]), files: told.files.map(() => [a, b]), from: a, to: b,
      text: "the measured " + time((b - a) / 1e3)};
  const step = text == "" ? undefined : steps[Number(text)];
  if (!step) return null;
  const files = byFile(step.of), [from, to] = files.reduce(join, null);
  const of = step.of.map((span, process) =>
    span || step.of[hostOf(process)] || files[told.processes[process][0]]);
  return {of, files, from, to, text: step.name};
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

// ---- The list of them: of many steps some at a time, and the chosen one ----

const MOST_STEPS = 2000;
let steps = [], firstStep = 0, chosenRange = "";
function fillRange(text) {
  const end = Math.min(steps.length, firstStep + MOST_STEPS), options = [["", "the whole trace"]];
  const add = n => options.push([String(n), stepText(steps[n])]);
  chosenRange = text;
  if (view.measured) options.push(["measured", "the measured time"]);
  if (firstStep) options.push(["earlier", count(firstStep) + " earlier steps \u2026"]);
  if (steps[text] && Number(text) < firstStep) add(text);
  for (let n = firstStep; n < end; n++) add(n);
  if (steps[text] && Number(text) >= end) add(text);
  if (end < steps.length)
    options.push(["later", count(steps.length - end) + " later steps \u2026"]);
  $("range").replaceChildren(...options.map(([value, name]) =>
    new Option(name, value, false, value == text)));
  $("range_label").hidden = options.length < 2;
}
$("range").onchange = () => {
  const text = $("range").value;
  if (text != "earlier" && text != "later") return setRange(text);
  firstStep += text == "later" ? MOST_STEPS : -MOST_STEPS;
  fillRange(chosenRange);
};
