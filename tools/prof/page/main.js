// ---- The page as a whole: its head, the range, the theme ----

const more = !data.compare && told.files.length > 1 && data.title == told.files[0][0]
  ? " and " + (told.files.length - 1) + " more" : "";
const title = data.compare ? told.files.map(file => file[0]).join(" and ") : data.title;
$("title").textContent = plain(title) + more;
document.title = plain(title) + more + " \u2013 prof " + (data.compare ? "diff" : data.memory_use ? "memory" : "report");
$("about").textContent = count(data.compare ? told.count + told.summed[0] : data.events) +
  (data.events == 1 ? " event" : " events") + ", prof " + data.version;
const MOST_CARDS = 8;               // of devices
const busyCards = data.compare ? [] : data.devices.slice(0, MOST_CARDS).map(
  ([process, name, span, , , , busy]) => {
    const of = told.files.length > 1 ? fileText(told.processes[process][0]) : "";
    return [of + name.split(" ", 2).join(" ") + " busy",
      (span ? 100 * busy / span : 0).toFixed(1) + " %"];
  });
for (const [name, value] of [...data.cards, ...busyCards]) {
  const card = element("div", undefined, "card");
  card.append(element("span", name, "soft"), element("b", value.replace(/(\d)([a-z]+)$/, "$1 $2").replace(/us$/, "\u00b5s")));
  $("cards").append(card);
}
for (const line of data.losses) $("losses").append(element("div", line));
$("losses").hidden = !data.losses.length;
const nothing = data.rows.length || told.count || told.counters.length || data.memory_use ? [] : ["There is nothing in " +
  "this trace: nothing that is marked (PROF_SCOPE, record_function, an op) ran and ended while it was " +
  "recorded."];
for (const note of [...nothing, ...data.notes]) $("notes").append(element("li", note));
$("notes_section").hidden = !$("notes").children.length;
for (const e of document.querySelectorAll(".device")) if (!data.device) e.remove();
$("calls_section").hidden = !data.rows.length;

// ---- What the timeline leaves out ----

function filesNote() {
  const aside = told.files.filter(file => file[4]).length;
  return (aside ? "Files that ran at the same time stand as they ran, by their clocks." : "") +
    (aside && aside < told.files.length ? " The others begin at 0." : "") +
    (aside ? "" : "Each file begins at 0: by their clocks, no two of them ran at the same time.");
}
function timelineNotes() {
  const list = [], [summed, ns, least] = told.summed;
  if (summed) list.push(count(summed) + " slices of " + time(ns / 1e3) + " together, none longer " +
    "than " + time(least / 1e3) + ", are not drawn one by one: they are the grey heights under " +
    "their threads. The table counts them all; calls of one name and the flame graph do not.");
  if (told.args_left) list.push(count(told.args_left) + " of " +
    count(told.args_left + told.args_count) + " slices with arguments, shorter ones, are here " +
    "without them.");
  if (told.untimed) list.push(count(told.untimed) + " events tell no time, and are not drawn.");
  if (told.instants_left) list.push(count(told.instants_left) + " more instants are not drawn.");
  if (told.counters_left) list.push(count(told.counters_left) + " more counters are not drawn.");
  if (told.no_numbers) list.push(count(told.no_numbers) + " values of counters are not numbers, " +
    "and are not drawn.");
  if (told.names_cut) list.push("Names of more than 2,000 bytes stand here without their end.");
  if (told.files.length > 1) list.push(filesNote());
  $("timeline_notes").replaceChildren(...list.map(text => element("li", text)));
  $("timeline_notes").hidden = !list.length;
}
function legend() {
  const there = CLASSES.map(() => false);
  for (const kind of classOf) there[kind] = true;
  $("legend").replaceChildren(...CLASSES.flatMap((name, k) => {
    if (!there[k] || oneClass) return [];      // then colours tell names apart
    const item = element("span"), dot = element("i", "", "dot");
    dot.style.background = "var(--" + name + ")";
    item.append(dot, document.createTextNode(CLASS_TEXTS[k]));
    return [item];
  }));
  const sums = CAUSES.map((name, k) => [...idle.values()].some(({all}) => all.sums[k] > 0));
  if (sums.some(Boolean)) $("legend").append(element("span", "idle:"));
  CAUSES.forEach((name, k) => {
    const item = element("span"), dot = element("i", "", "dot");
    dot.style.background = "var(--" + name + ")";
    item.append(dot, document.createTextNode(name));
    if (sums[k]) $("legend").append(item);
  });
}

// ---- Theme, size, keys ----

function draw() {
  screen = inks = null;
  if (slices.tracks) layOut();
  repaint();
  flame();
  memory();
  drawUse();
  if (chosenRow && slices.tracks) histogram(callsOf(...chosenRow)
    .sort((a, b) => slices.dur[b] - slices.dur[a]));
}
function setTheme(theme) {
  root.dataset.theme = theme;
  colors.clear();
  draw();
}
$("theme").onclick = () => setTheme(root.dataset.theme == "dark" ? "light" : "dark");
for (const id of ["flame", "memory"]) $(id).onmouseleave = e => tip(e, "");
addEventListener("resize", draw);
const dark = matchMedia("(prefers-color-scheme: dark)");
dark.onchange = () => setTheme(dark.matches ? "dark" : "light");
let screenTheme = null;             // paper is white
addEventListener("beforeprint", () => {
  screenTheme = root.dataset.theme;
  setTheme("light");
  paint();                          // at once: no frame comes before the paper
});
addEventListener("afterprint", () => { if (screenTheme) setTheme(screenTheme); });
addEventListener("keydown", e => {
  const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(document.activeElement.tagName);
  if (e.key != "/" || typing || e.ctrlKey || e.metaKey) return;
  e.preventDefault();
  $("search").focus();
});

async function begin() {
  try {
    await readSlices();
  } catch (error) {
    $("found").textContent = "This browser cannot unpack the timeline: " + error;
    return;
  }
  whole.from = told.instants.reduce((least, [, at]) => Math.min(least, at), 0);
  whole.to = told.instants.reduce((most, [, at]) => Math.max(most, at),
    Math.max(1, ...told.files.map(file => file[2])));
  steps = findSteps();
  $("timeline_section").hidden = !slices.tracks.length && !told.counters.length;
  layOut();
  fillRange("");
  timelineNotes();
  legend();
  showWhole();
  paint();
  memory();
  performance.mark("timeline");
  setTimeout(() => { growFlame(); flame(); root.dataset.ready = "yes"; });
}
devices();
fillRanks();
fillTable();
fillUse();
setTheme(dark.matches ? "dark" : "light");
begin();
