// ---- The table, and the calls of one of its names ----

const NAME = 0, DEVICE = 1, COUNT = 2, SELF = 3, TOTAL = 4, GPU_SELF = 5, GPU_TOTAL = 6, MEMORY = 7,
  GPU_MEMORY = 8, ON_CPU = 10,
  COUNTERS = 11;     // of each its own and its children's, too
const device = data.device || "Device";
let table = {rows: data.rows, sums: data.sums};      // of the range
let sortBy = data.compare ? -1 : SELF, descending = true, showing = "all", limit = 20, chosenRow = null;

// prof diff: rows are [name, on a device, calls, calls, us, us, slower] of both traces.
const BEFORE = 4, AFTER = 5, CHANGE = 7, CHANGE_SHARE = 8;
function comparedColumns() {
  const [a, b, metric] = data.compare, of = metric == "total" ? "" : " " + metric;
  return [
    {head: "Name", of: NAME}, {head: a + of, of: BEFORE}, {head: b + of, of: AFTER},
    {head: "Change", of: CHANGE, signed: true}, {head: "%", of: CHANGE_SHARE, percent: true},
    {head: a + " calls", of: COUNT}, {head: b + " calls", of: COUNT + 1, number: true}
  ];
}
function addChange(row) {
  row.push(row[AFTER] - row[BEFORE], row[BEFORE] > 0 ? 100 * (row[AFTER] / row[BEFORE] - 1) : null);
}
if (data.compare) data.rows.forEach(addChange);

function columnsNow() {
  if (data.compare) return comparedColumns();
  const memory = data.with_memory && !(range && told.changes_left);
  return [
    {head: "Name", of: NAME},
    {head: "Self CPU", of: SELF, share: table.sums[0]},
    {head: "CPU total", of: TOTAL},
    {head: "On CPU", of: ON_CPU, on: !range && data.rows.some(r => r[ON_CPU])},
    {head: "Self " + device, of: GPU_SELF, share: table.sums[1], gpu: true, on: data.device},
    {head: device + " total", of: GPU_TOTAL, on: data.device},
    {head: "CPU memory", of: MEMORY, bytes: true, on: memory},
    {head: device + " memory", of: GPU_MEMORY, bytes: true,
      on: memory && (data.device || data.rows.some(r => r[GPU_MEMORY]))},
    ...(data.counters || []).flatMap((name, i) => ["Self " + plain(name), plain(name)].map((head, k) =>
      ({head, of: COUNTERS + 2 * i + k, number: true, on: !range}))),
    {head: "Calls", of: COUNT}
  ].filter(c => !("on" in c) || c.on);
}

// The name of the row that a slice of this name counts in.
function rowText(name) {
  return names[name].startsWith("ProfilerStep#") ? "ProfilerStep*" : names[name];
}

// The rows of the slices of a file that begin in the range: as prof report --step has them.
function rowsOfFiles(taken) {
  const rows = new Map(), sums = [0, 0];
  const rowOf = (text, on) => {
    if (!rows.has(on + text)) rows.set(on + text, [text, on, 0, 0, 0, 0, 0, 0, 0]);
    return rows.get(on + text);
  };
  const rowOfSlice = (i, on) => rowOf(rowText(slices.name[i]), on);
  const isRow = i => classOf[slices.name[i]] != PYTHON && classOf[slices.name[i]] != WAITING;
  for (let i = 0; i < slices.count; i++) {
    if (!isRow(i)) continue;
    const us = slices.dur[i] / 1e3;
    if (isWork(i)) addWork(i, us, rowOfSlice, taken);
    if (!taken(i)) continue;
    const on = onDevice(slices.name[i]), row = rowOfSlice(i, on);
    row[COUNT]++;
    row[on ? GPU_SELF : SELF] += on ? us : slices.self[i] / 1e3;
    row[on ? GPU_TOTAL : TOTAL] += us;
    if (!on || isWork(i)) sums[on] += on ? us : slices.self[i] / 1e3;
  }
  for (const change of slices.changes) addChanged(change, rowOf, taken);
  return {rows: [...rows.values()], sums};
}
// Memory to the call that it changed in; what changed in none is a row of its own.
function addChanged([process, ns, host, devices, call], rowOf, taken) {
  if (!inProcess(process, ns) || (call >= 0 && !taken(call))) return;
  const row = call >= 0 ? rowOf(rowText(slices.name[call]), 0) : rowOf("[memory]", 0);
  if (call < 0) row[COUNT]++;
  row[MEMORY] += host;
  row[GPU_MEMORY] += devices;
}
// The device's time to the call that owns the work, and to those around that.
function addWork(i, us, rowOfSlice, taken) {
  let owner = slices.owner[i];
  if (owner >= 0 && taken(owner)) rowOfSlice(owner, 0)[GPU_SELF] += us;
  for (; owner >= 0; owner = slices.parent[owner])
    if (classOf[slices.name[owner]] != PYTHON && taken(owner))
      rowOfSlice(owner, 0)[GPU_TOTAL] += us;
}

function rowsOfRange() {
  if (!data.compare) return rowsOfFiles(inRange);
  const rows = new Map(), sides = [0, 1].map(file => i => fileOf(i) == file && inRange(i));
  sides.forEach((taken, side) => {
    for (const row of rowsOfFiles(taken).rows) {
      const key = row[DEVICE] + row[NAME];
      if (!rows.has(key)) rows.set(key, [row[NAME], row[DEVICE], 0, 0, 0, 0, 0]);
      rows.get(key)[COUNT + side] = row[COUNT];
      rows.get(key)[BEFORE + side] = row[DEVICE] ? row[GPU_TOTAL] : row[SELF];
    }
    if (data.compare[2] != "total") compareCalls(rows, taken, side);
  });
  const list = [...rows.values()].filter(row => row[COUNT] + row[COUNT + 1]);
  list.forEach(addChange);
  return {rows: list.sort((a, b) => Math.abs(b[CHANGE]) - Math.abs(a[CHANGE])), sums: [0, 0]};
}
// Other metrics are of the durations of calls: avg, p50, p90, ..., max.
function compareCalls(rows, taken, side) {
  const calls = new Map(), metric = data.compare[2];
  const part = metric == "max" ? 100 : Number(metric.slice(1));
  for (let i = 0; i < slices.count; i++) {
    const key = onDevice(slices.name[i]) + rowText(slices.name[i]);
    if (!rows.has(key) || !taken(i)) continue;
    if (!calls.has(key)) calls.set(key, []);
    calls.get(key).push(slices.dur[i]);
  }
  for (const [key, list] of calls) {
    list.sort((a, b) => a - b);
    rows.get(key)[BEFORE + side] = (metric == "avg" ? list.reduce((a, b) => a + b, 0) / list.length
      : list[Math.max(0, Math.ceil(list.length * part / 100) - 1)]) / 1e3;
  }
}

function cell(row, column) {
  const td = element("td", undefined, column.gpu ? "gpu" : "");
  const value = row[column.of];
  if (column.of == NAME) {
    const open = element("button", plain(value).trim() ? plain(value) : "(no name)", "link");
    open.title = plain(value);
    open.onclick = e => { e.stopPropagation(); showCalls(value, row[DEVICE]); };
    td.append(element("i", "", row[DEVICE] ? "dot gpu" : "dot"), open);
  } else if (column.of == COUNT || column.number) {
    td.textContent = count(value);
  } else if (column.percent) {
    td.textContent = row[BEFORE] > 0 && row[AFTER] > 0 ? (value > 0 ? "+" : "") + value.toFixed(1)
      : row[BEFORE] > 0 ? "gone" : row[AFTER] > 0 ? "new" : "";
    if (row[6]) td.className = "slower";
  } else if (column.signed) {
    td.textContent = (value > 0 ? "+" : "") + time(value);
  } else if (value || column.bytes) {
    td.textContent = column.bytes ? (value ? bytes(value) : "") : time(value);
  }
  if (column.share > 0 && value > 0) {
    const bar = element("span", undefined, "bar"), part = element("i");
    part.style.width = Math.min(100, 100 * value / column.share) + "%";
    bar.append(part);
    bar.title = (100 * value / column.share).toFixed(2) + " %";
    td.append(bar);
  }
  return td;
}
function heads(columns) {
  $("heads").replaceChildren(...columns.map(c => {
    const th = element("th", c.head);
    th.scope = "col";
    th.tabIndex = 0;
    if (c.of == sortBy) th.setAttribute("aria-sort", descending ? "descending" : "ascending");
    th.onclick = () => {
      descending = c.of == sortBy ? !descending : c.of != NAME;
      sortBy = c.of;
      fillTable();
    };
    th.onkeydown = e => {
      if (e.key != "Enter" && e.key != " ") return;
      e.preventDefault();
      th.onclick();
    };
    return th;
  }));
}
function fillTable() {
  const word = $("filter").value.toLowerCase(), columns = columnsNow();
  const rows = table.rows.filter(r => (showing == "all" || (showing == "gpu") == Boolean(r[DEVICE])) &&
    r[NAME].toLowerCase().includes(word));
  const sign = descending ? -1 : 1;
  if (!columns.some(c => c.of == sortBy)) sortBy = data.compare ? -1 : SELF;
  if (sortBy >= 0) rows.sort((a, b) => sign *
    (sortBy == NAME ? a[NAME].localeCompare(b[NAME]) : a[sortBy] - b[sortBy]));
  heads(columns);
  $("rows").replaceChildren(...rows.slice(0, limit).map(r => {
    const tr = element("tr");
    tr.append(...columns.map(c => cell(r, c)));
    tr.className = chosenRow && chosenRow[0] == r[NAME] && chosenRow[1] == r[DEVICE] ? "chosen" : "";
    tr.onclick = () => showCalls(r[NAME], r[DEVICE]);
    return tr;
  }));
  $("more").hidden = rows.length <= limit;
  $("shown").textContent = Math.min(limit, rows.length) + " of " + rows.length +
    (data.rows_left && !range ? " (" + data.rows_left + " more rows are not in this page)" : "");
}
$("filter").oninput = fillTable;
$("more").onclick = () => { limit = Infinity; fillTable(); };
for (const button of document.querySelectorAll("[data-show]"))
  button.onclick = () => {
    showing = button.dataset.show;
    if (showing == "gpu" && !data.compare) sortBy = GPU_SELF;
    if (showing == "cpu" && !data.compare) sortBy = SELF;
    for (const b of document.querySelectorAll("[data-show]"))
      b.setAttribute("aria-pressed", b == button);
    fillTable();
  };

// ---- One name: its calls, how long they take ----

function callsOf(text, on) {
  const is = Uint8Array.from(names, (name, k) => rowText(k) == plain(text) &&
    onDevice(k) == on ? 1 : 0);
  const list = [];
  for (let i = 0; i < slices.count; i++) if (is[slices.name[i]] && inRange(i)) list.push(i);
  return list;
}
// Of several traces, each for itself: calls, mean and the usual shares.
function tellFiles(dl, list) {
  told.files.forEach((file, number) => {
    const own = list.filter(i => fileOf(i) == number).map(i => slices.dur[i] / 1e3);
    const at = p => time(own[Math.max(0, Math.ceil(own.length * (100 - p) / 100) - 1)]);
    term(dl, fileText(number).slice(0, -2), own.length ? count(own.length) + " calls, median " + at(50) + ", 90 % \u2264 " +
      at(90) + ", most " + time(own[0]) : "none");
  });
}

function showCalls(text, on) {
  chosenRow = [text, on];
  fillTable();
  if (!slices.tracks) return;
  fillCalls();
  $("search").value = plain(text);
  search();
  $("calls").scrollIntoView({block: "nearest"});
}
function fillCalls() {
  const [text, on] = chosenRow, list = callsOf(text, on).sort((a, b) => slices.dur[b] - slices.dur[a]);
  $("calls").hidden = false;
  $("calls_name").textContent = plain(text);
  const dl = $("percentiles");
  dl.replaceChildren();
  const share = p => list.length ?
    time(slices.dur[list[Math.max(0, Math.ceil(list.length * (100 - p) / 100) - 1)]] / 1e3) : "";
  term(dl, "Calls", count(list.length) + (told.summed[0] ? " in the timeline" : ""));
  if (list.length) {
    const ns = list.reduce((sum, i) => sum + slices.dur[i], 0);
    term(dl, "Sum", time(ns / 1e3));
    term(dl, "Mean", time(ns / 1e3 / list.length));
    term(dl, "Least", time(slices.dur[list[list.length - 1]] / 1e3));
    for (const p of [50, 90, 99]) term(dl, p == 50 ? "Median" : p + " %", "\u2264 " + share(p));
    term(dl, "Most", time(slices.dur[list[0]] / 1e3));
    if (told.files.length > 1) tellFiles(dl, list);
  }
  const links = list.slice(0, 100).map(i => {
    const p = element("div");
    p.append(linkTo(i, time(slices.dur[i] / 1e3)), document.createTextNode(
      " at " + time(slices.start[i] / 1e3) + ", " + plain(slices.tracks[slices.track[i]].title)));
    return p;
  });
  $("calls_list").replaceChildren(element("div", list.length > 100
    ? "The 100 longest of " + count(list.length) : "The longest first", "soft"), ...links);
  histogram(list);
}
$("calls_close").onclick = () => {
  $("calls").hidden = true;
  chosenRow = null;
  $("search").value = "";
  search();
  fillTable();
};

// How many calls take how long, in bins that double in four steps.
function histogram(list) {
  const [g, width] = prepare($("histogram"), list.length ? 110 : 0);
  if (!list.length) return;
  const bin = i => Math.floor(4 * Math.log2(Math.max(1, slices.dur[i])));
  const first = bin(list[list.length - 1]), last = bin(list[0]), bins = [];
  for (let b = first; b <= last; b++) bins[b - first] = 0;
  for (const i of list) bins[bin(i) - first]++;
  const most = Math.max(...bins), size = Math.min(40, width / bins.length);
  g.fillStyle = color(chosenRow[1] ? "gpu" : "cpu");
  bins.forEach((n, b) => {
    const high = n ? Math.max(2, 84 * n / most) : 0;
    g.fillRect(b * size, 88 - high, Math.max(1, size - 1), high);
  });
  g.fillStyle = color("soft");
  const from = time(2 ** (first / 4) / 1e3), to = time(2 ** ((last + 1) / 4) / 1e3);
  g.fillText(from, 0, 100);
  const end = Math.max(g.measureText(from).width + 12,
    Math.min(width, size * bins.length) - g.measureText(to).width);
  g.fillText(to, end, 100);
  $("histogram").setAttribute("aria-label", "Calls by time, from " + from + " to " + to);
  $("histogram").onmousemove = e => {
    const b = Math.floor(e.offsetX / size);
    tip(e, b < bins.length ? count(bins[b]) + " calls of " + time(2 ** ((first + b) / 4) / 1e3) +
      " to " + time(2 ** ((first + b + 1) / 4) / 1e3) : "");
  };
  $("histogram").onmouseleave = e => tip(e, "");
}
