// The page of prof report in a real browser: loads, zooms, searches, clicks; reads the page and what
// is drawn.   node pages.mjs CHROMIUM FOLDER NAME=PAGE...   prints "ok NAME" or "not ok NAME: why".
// STEP=FILE.json beside a page: rows of prof report --step, which its step picker is to show;
// PICTURES=FOLDER: pictures of each page, wide and narrow, light and dark.
import {existsSync, mkdirSync, readFileSync, statSync, writeFileSync} from "node:fs";
import {start} from "./browser.mjs";

const [program, folder, ...pages] = process.argv.slice(2);
const browser = await start(program, folder);
let failed = 0;

function check(good, what) { if (!good) throw new Error(what); }
const pause = ms => new Promise(done => setTimeout(done, ms));
const settled = page => page.run("new Promise(done => requestAnimationFrame(() => " +
  "requestAnimationFrame(() => done(1))))");

async function test(name, steps) {
  try {
    await steps();
    console.log("ok " + name);
  } catch (error) {
    failed++;
    console.log("not ok " + name + ": " + String(error.message || error).split("\n")[0]);
  }
}

// A slice that is wide enough to be seen, and where its middle is drawn.
const SEEN = `(() => {
  for (const {rows: track} of lines) for (const row of track && !track.folded ? track.rows : [])
    for (let i = row.from; i < Math.min(row.to, row.from + 3000); i++) {
      const box = boxOf(i), x = box.x + box.width / 2;
      if (box.width >= 8 && x > 4 && x < lanes.clientWidth - 4 && box.y > RULER + 2 &&
          box.y + ROW < lanes.clientHeight) {
        const frame = canvas.getBoundingClientRect();
        return {i, x, y: box.y, left: frame.left + x, top: frame.top + box.y + 8,
          name: names[slices.name[i]], row: rowText(slices.name[i])};
      }
    }
  return null;
})()`;
const pixel = (x, y) => `[...canvas.getContext("2d").getImageData(${x} * devicePixelRatio, ` +
  `${y} * devicePixelRatio, 1, 1).data]`;

async function draws(page) {
  let seen = await page.run(SEEN);
  for (let n = 0; n < 20 && !seen; n++) {
    await page.run("zoom(0.5, lanes.clientWidth * 0.4)");
    await settled(page);
    seen = await page.run(SEEN);
  }
  check(seen, "no slice to be seen");
  const drawn = await page.run(pixel(seen.x, seen.y + 1));
  const ink = await page.run(`(() => { const n = inks[slices.name[${seen.i}]];
    return [n & 255, n >> 8 & 255, n >> 16 & 255, 255]; })()`);
  check(String(drawn) == String(ink), `${seen.name} is drawn as ${drawn}, not ${ink}`);
  return seen;
}

async function zooms(page) {
  const size = () => page.run("view.to - view.from"), from = () => page.run("view.from");
  const [x, y] = await page.run(`(r => [r.left + r.width / 2, r.top + r.height / 2])
    (canvas.getBoundingClientRect())`);
  await page.run("KEYS.Escape()");
  await settled(page);
  const before = await size();
  await page.wheel(x, y, -300);
  await settled(page);
  const near = await size();
  check(near < before * 0.9, `the wheel does not zoom: ${before} to ${near}`);
  await page.run("canvas.focus()");
  await page.key("w");
  await settled(page);
  check(await size() < near * 0.9, "w does not zoom");
  const left = await from();
  await page.key("d");
  await settled(page);
  const right = await from();
  check(right > left, "d does not move");
  await page.drag(x, y, x + 120, y);
  await settled(page);
  check(await from() < right, "dragging does not move");
  await page.key("s");
  await page.key("a");
  await page.key("Escape");
  await settled(page);
  check(Math.abs(await size() / before - 1) < 0.01, "Esc does not show the whole");
}

async function measures(page) {
  await page.run("KEYS.Escape()");
  const [x, y] = await page.run("(r => [r.left, r.top])(canvas.getBoundingClientRect())");
  await page.drag(x + 60, y + 10, x + 160, y + 10);
  await settled(page);
  const ns = await page.run("view.measured && view.measured[1] - view.measured[0]");
  const whole = await page.run("100 * (view.to - view.from) / lanes.clientWidth");
  check(ns && Math.abs(ns / whole - 1) < 0.02, `100 pixels measure ${ns} ns, not ${whole}`);
  check(await page.run("$('range').value") == "measured", "the measured range is not picked");
  await page.run("setRange('')");
}

async function clicks(page) {
  await page.run("$('search').value = ''; search()");
  await settled(page);
  const seen = await draws(page);
  await page.click(seen.left, seen.top);
  await settled(page);
  const told = await page.run("$('details').hidden ? '' : $('details').querySelector('h3').textContent");
  check(told == seen.name, `a click on ${seen.name} tells of ${told}`);
  const parent = await page.run(`childrenOf(${seen.i}).every(c => slices.parent[c] == ${seen.i})`);
  check(parent, "a child of another");
  await page.run(`[...$("details").querySelectorAll("button")][0].click()`);
  await settled(page);
  const calls = await page.run(`[$("calls").hidden, $("calls_name").textContent,
    Number($("percentiles").querySelector("dd").textContent.replace(/\\D/g, ""))]`);
  check(!calls[0] && calls[1] == seen.row && calls[2] > 0, "no calls of " + seen.row + ": " + calls);
  await page.run("$('calls_close').click()");
}

async function searches(page) {
  const word = await page.run(`(() => { const track = slices.tracks.find(t => t.to > t.from);
    return names[slices.name[track.rows[0].from]]; })()`);
  await page.run(`$("search").focus(); $("search").value = ${JSON.stringify(word)}; search()`);
  const many = await page.run("matches");
  check(many > 0, "nothing is called " + word);
  await page.run("stepMatch(1)");
  await settled(page);
  const found = await page.run("[names[slices.name[view.chosen]], $('found').textContent, " +
    "boxOf(view.chosen) !== null]");
  check(found[0].toLowerCase().includes(word.toLowerCase()) && found[1].includes(" of ") && found[2],
    "the search finds " + found);
  const ink = await page.run(`inks[slices.name[view.chosen]] == pack(rgb(color("found")))`);
  check(ink, "what is found is not marked");
  await page.run("$('search').value = ''; search(); KEYS.Escape()");
}

async function arrows(page) {
  const work = await page.run("slices.launch.findIndex(i => i >= 0)");
  if (work < 0) return;
  await page.run(`goTo(${work})`);
  await settled(page);
  const text = await page.run("$('details').textContent");
  check(text.includes("Launched by"), "the kernel does not tell its launch");
  const back = await page.run(`launchedBy(slices.launch[${work}]).includes(${work})`);
  check(back, "the launch does not know its kernel");
  await page.run("KEYS.Escape()");
}

// The rows of the range are those that prof report has of it.
async function hasRows(page, file) {
  const rows = await page.run("table.rows"), wanted = JSON.parse(readFileSync(file));
  const found = new Map(rows.map(r => [r[1] + r[0], r]));
  const differ = [];
  for (const row of wanted) {
    const one = found.get((row.device_type ? 1 : 0) + row.key);
    if (!one || one[2] != row.count) differ.push(`${row.key}: ${one && one[2]}, not ${row.count}`);
    else if (!row.device_type && Math.abs(one[3] - row.self_cpu_time_total) > 0.01)
      differ.push(`${row.key}: ${one[3]} of its own, not ${row.self_cpu_time_total}`);
    else if (!row.device_type && (one[7] != row.self_cpu_memory_usage ||
             one[8] != row.self_device_memory_usage))
      differ.push(`${row.key}: ${one[7]} and ${one[8]} bytes, not ${row.self_cpu_memory_usage} ` +
        `and ${row.self_device_memory_usage}`);
    else if (Math.abs(one[6] - row.device_time_total) > 0.01)
      differ.push(`${row.key}: ${one[6]} on the device, not ${row.device_time_total}`);
  }
  check(!differ.length && rows.length == wanted.length,
    `${rows.length} rows, not ${wanted.length}; ${differ.length} differ: ${differ.slice(0, 3).join("; ")}`);
  await page.run("setRange('')");
}

async function picksStep(page, file) {
  if (!existsSync(file)) return;
  await page.run('setRange(String(steps.length >> 1))');
  await hasRows(page, file);
}

// What is measured is what --from and --to mean, of files that ran together, too.
async function measuresRows(page, file) {
  if (!existsSync(file)) return;
  await page.run("view.measured = [11500000, 31000000]; setRange('measured')");
  await hasRows(page, file);
}

const near = (a, b) => Math.abs(a - b) < 0.01;

// What the page counts itself of a range that holds all is what the command counted.
async function ofAll(page) {
  const told = await page.run("({devices: data.devices, ranks: data.ranks, " +
    "compared: data.compare && data.rows, gaps: [...idle].map(([p, {all}]) => [p, all.sums])})");
  await page.run("view.measured = [-1e18, 1e18]; setRange('measured')");
  const now = await page.run("({devices: devicesNow(), ranks: data.ranks && ranksNow(), " +
    "compared: table.rows, gaps: [...idle].map(([p, {shown}]) => [p, shown.sums])})");
  await page.run("setRange('')");
  for (const part of ["devices", "gaps"])
    check(JSON.stringify(told[part]) == JSON.stringify(now[part]),
      `${part}: ${JSON.stringify(now[part])}, not ${JSON.stringify(told[part])}`);
  (told.ranks ? told.ranks.ranks : []).forEach((rank, n) => {
    for (const [key, value] of Object.entries(now.ranks.ranks[n]))
      check(value == rank[key] || near(value, rank[key]), `rank ${n}: ${key} ${value}, not ${rank[key]}`);
  });
  for (const part of told.ranks ? ["collectives", "stragglers"] : [])
    check(JSON.stringify(told.ranks[part]) == JSON.stringify(now.ranks[part]), part + " differ");
  const found = new Map((told.compared ? now.compared : []).map(row => [row[1] + row[0], row]));
  for (const row of told.compared || []) {
    const one = found.get(row[1] + row[0]);
    check(one && one[2] == row[2] && one[3] == row[3] && near(one[4], row[4]) && near(one[5], row[5]),
      `${one}, not ${row}`);
  }
}

// Two ranks of two_ranks.py, side by side in time; or a rank and the same one, an hour later. Of
// step 2 devices are as under the table of prof report --step, memory and waits as they were made.
async function sideBySide(page, file, aside, ranks) {
  const folder = file.replace(/[^/]*$/, ""), made = JSON.parse(readFileSync(folder + "two_ranks.json"));
  const begins = await page.run("told.files.map((f, n) => slices.start.reduce((least, ns, i) => " +
    "fileOf(i) == n ? Math.min(least, ns) : least, Infinity))");
  check(String(begins) == String(ranks.map(rank => made.begins_ns[rank])), "files begin at " + begins);
  const notes = await page.run("$('timeline_notes').textContent");
  check(notes.includes(aside ? "ran at the same time stand as they ran" : "Each file begins at 0"), notes);
  await page.run("showCalls('aten::mm', 0); $('range').value = '1'; $('range').onchange()");
  await settled(page);
  check(await page.run("$('percentiles').querySelector('dd').textContent") == "2", "calls of other steps");
  const cells = await page.run("[...$('devices').children].map(tr => [...tr.children].map(td => td.textContent))");
  const legend = await page.run("$('memory_legend').textContent");
  for (const [n, rank] of ranks.entries()) {
    const line = readFileSync(folder + rank + ".step.txt", "utf8").match(/^Device.*/m)[0];
    const [busy, span, compute, communication, copies] = line.match(/\d+\.\d+/g).map(Number);
    const [, ...told] = cells[n].map(parseFloat);
    check(String(told.slice(1, 4)) == String([compute, communication, copies]) &&
      near(told[0], span) && Math.abs(told[4] - 100 + busy) < 0.11, `${cells[n]}, not ${line}`);
    for (const most of made.most[rank][2]) {
      const text = await page.run(`bytes(${most})`);
      check(legend.includes(text), `at most ${text} is missing: ${legend}`);
    }
  }
  const axis = await page.run("(p => [p.from == range.from, p.to == range.to, p.parts.every(m => " +
    "m.points.length && m.points.every(([ns]) => ns >= range.from && ns < range.to))])(memoryParts())");
  check(axis.every(Boolean), "memory of other times: " + axis);
  check((await page.run("data.device")) == "CUDA", "memory changes what devices are called");
  if (aside) {
    const now = await page.run("ranksNow()");
    check(now.collectives.length == 1 && near(now.ranks[0].wait_us, 2000) &&
      near(now.ranks[1].late_us, 2000) && String(now.stragglers) == "1", JSON.stringify(now.ranks));
    const idle = await page.run("[...document.querySelectorAll('.of_range')].map(e => e.textContent)");
    check(idle.every(text => text.includes("ProfilerStep#2")), "sections do not say of what they are");
  }
  await page.run("$('calls_close').click(); setRange('')");
}

// Of each file a step of prof diff's page is what prof report --step has of it.
async function comparesStep(page, file, ranks) {
  const folder = file.replace(/[^/]*$/, "");
  await page.run("setRange('1')");
  const rows = await page.run("table.rows");
  for (const [side, rank] of ranks.entries())
    for (const row of JSON.parse(readFileSync(folder + rank + ".step.json"))) {
      const one = rows.find(r => r[0] == row.key && r[1] == (row.device_type ? 1 : 0));
      const us = row.device_type ? row.device_time_total : row.self_cpu_time_total;
      check(one && one[2 + side] == row.count && near(one[4 + side], us), `${one}, not ${row.key} ${us}`);
    }
  const heads = await page.run("$('heads').textContent");
  check(heads.includes("Change"), "a range is not compared: " + heads);
  await page.run("setRange('')");
}

// Of many steps the list has some at a time: each can be chosen, and stays so.
async function reachesSteps(page) {
  const pick = value => page.run(`$("range").value = "${value}"; $("range").onchange()`);
  const listed = () => page.run("[...$('range').options].map(o => o.value)");
  const reached = new Set(await listed());
  for (let n = 0; n < 5 && (await listed()).includes("later"); n++) {
    await pick("later");
    (await listed()).forEach(value => reached.add(value));
  }
  const missing = await page.run("steps.length - 4500") ||
    [...Array(4500).keys()].filter(n => !reached.has(String(n))).length;
  check(!missing, missing + " steps are not reached");
  await pick("4499");
  check(await page.run("range.text") == "ProfilerStep#2249", "the last step is not chosen");
  await pick("earlier");
  await pick("earlier");
  check(await page.run("$('range').value + range.text") == "4499ProfilerStep#2249", "it is not kept");
  check((await listed()).includes("0"), "the first step is not listed again");
  await page.run("view.measured = [0, 1000]; setRange('measured')");
  check(await page.run("$('range').value") == "measured", "what is measured is not listed");
  await page.run("setRange('')");
}

// Two fingers, of which one stays: what is under each of them stays there.
async function pinches(page) {
  await page.run("KEYS.Escape(); scrollTo(0, 0)");
  await settled(page);
  const [left, top, width] = await page.run("(r => [r.left, r.top, r.width])(canvas.getBoundingClientRect())");
  const at = x => page.run(`view.from + (view.to - view.from) * ${x - left} / lanes.clientWidth`);
  const y = top + 80, a = left + width * 0.3, b = a + 60, c = left + width * 0.8;
  const before = [await at(a), await at(b)], size = await page.run("view.to - view.from");
  await page.fingers([[a, y], [b, y]], [[a, y], [(b + c) / 2, y]], [[a, y], [c, y]]);
  await settled(page);
  const after = [await at(a), await at(c)], pixel = size / width;
  check(before.every((ns, i) => Math.abs(ns - after[i]) < 2 * pixel),
    `under the fingers were ${before}, are ${after}`);
  await page.fingers([[a, y], [c, y]], [[a, y], [b, y]]);
  await settled(page);
  const back = await page.run("view.to - view.from");
  check(Math.abs(back / size - 1) < 0.02, `pinched together ${back} ns, not ${size}`);
  await page.run("KEYS.Escape()");
}

// A screen reader has a name for all that can be used; the keyboard reaches it, seen as it is there.
async function reads(page) {
  const used = ["button", "searchbox", "textbox", "combobox", "application", "img", "Canvas", "columnheader"];
  const told = await page.told(), nameless = told.filter(([role, name]) => used.includes(role) && !name.trim());
  check(!nameless.length, "no name: " + nameless.map(([role]) => role));
  for (const name of ["Timeline.", "Search the timeline", "Zoom in", "Filter by name"])
    check(told.some(([, text]) => text.startsWith(name)), "nothing is called " + name);
  await page.run("$('theme').focus()");
  const ways = [];
  for (let n = 0; n < 40 && !ways.includes("rows"); n++) {
    await page.key("Tab");
    ways.push(await page.run("document.activeElement.closest('#rows') ? 'rows' : document.activeElement.id"));
    const ring = await page.run("getComputedStyle(document.activeElement).outlineStyle");
    check(ring != "none", "the focus on " + ways[n] + " is not seen");
  }
  for (const way of ["search", "timeline", "filter", "rows"])
    check(ways.includes(way), `Tab does not reach ${way}: ${ways}`);
  await page.key("Enter");
  await settled(page);
  check(!(await page.run("$('calls').hidden")), "Enter on a name does not show its calls");
  await page.run("$('calls_close').click()");
}

// On paper: light, without what is to be pressed, as wide as the paper, nothing squeezed.
async function prints(file) {
  const page = await browser.open(file, {dark: true});
  await page.until("root.dataset.ready == 'yes'");
  await page.run("addEventListener('beforeprint', () => { window.paper = [root.dataset.theme, " +
    "[...canvas.getContext('2d').getImageData(0, 0, 1, 1).data].join()]; })");
  const pdf = await page.print();
  check(pdf.subarray(0, 5) == "%PDF-" && pdf.length > 20000, "no PDF: " + pdf.length + " bytes");
  const [theme, ink] = await page.run("window.paper");
  const empty = await page.run("$('timeline_section').hidden");
  check(theme == "light" && (empty || ink.startsWith("255,255,255")), `printed ${theme}, on ${ink}`);
  check(await page.run("root.dataset.theme") == "dark", "the page is light after it was printed");
  await page.media("print");
  await page.resize(718, 1000);
  await settled(page);
  const seen = await page.run(`[...document.querySelectorAll("button, input, select")]
    .filter(e => !e.classList.contains("link") && e.checkVisibility()).map(e => e.id || e.textContent)`);
  check(!seen.length, "on paper: " + seen);
  check(await page.run("$('rows').children.length == 0 || $('rows').textContent.trim().length > 0 && " +
    "$('rows').querySelector('.link').checkVisibility()"), "names are not printed");
  const wide = await page.run("document.documentElement.scrollWidth");
  check(wide <= 719, `${wide} pixels wide on paper of 718`);
  const squeezed = await page.run(`[...document.querySelectorAll("canvas")].filter(c => c.clientWidth &&
    Math.abs(c.clientWidth / c.clientHeight / (c.width / c.height) - 1) > 0.02).map(c => c.id)`);
  check(!squeezed.length, "squeezed: " + squeezed);
  check(!page.errors.length, page.errors[0]);
  await page.run("dispatchEvent(new Event('beforeprint'))");
  if (process.env.PICTURES)
    writeFileSync(`${process.env.PICTURES}/print_${file.match(/([^/]*)\.html/)[1]}.png`, await page.picture(true));
  await page.close();
}

// Idle times by cause are those of prof gaps.
async function gaps(page, file) {
  if (!existsSync(file)) return;
  const wanted = new Map(), found = new Map();
  for (const row of JSON.parse(readFileSync(file))) {
    if (await page.run(`CAUSES.includes(${JSON.stringify(row.Cause)})`))
      wanted.set(row.Cause, (wanted.get(row.Cause) || 0) + row["Time (us)"]);
  }
  for (const [cause, ns] of await page.run(
    "[...idle.values()].flatMap(({all}) => all.sums.map((ns, k) => [CAUSES[k], ns]))"))
    found.set(cause, (found.get(cause) || 0) + ns / 1e3);
  for (const [, , span, compute, communication, copies, busy] of await page.run("data.devices")) {
    check(busy == compute + communication + copies, "parts of a device are not the whole");
    check(span > 0, "a device without time");
  }
  for (const [cause, us] of wanted)
    check(Math.abs(us - (found.get(cause) || 0)) < 0.1, `${cause}: ${found.get(cause)}, not ${us}`);
  check(wanted.size > 3, "prof gaps tells no causes");
}

const part = (list, p) => [...list].sort((a, b) => a - b)[Math.floor(list.length * p)].toFixed(1);

// How long the page takes until it is drawn, and a frame while it is moved and zoomed. What a frame
// draws is bounded by the pixels of its rows, however many slices there are.
async function figures(name, file, page) {
  const ms = await page.run("performance.getEntriesByName('timeline')[0].startTime");
  const [work, gaps, things, bound] = await page.run(`(async () => {
    const gaps = [];
    KEYS.Escape();
    await new Promise(done => setTimeout(done, 300));
    view.frames.length = view.drawn.length = 0;
    for (let n = 0, last = 0; n < 120; n++) await new Promise(done => requestAnimationFrame(now => {
      if (last) gaps.push(now - last);
      last = now;
      if (n % 3 == 2) move(n % 2 ? 0.05 : -0.04);
      else zoom(n < 60 ? 0.9 : 1 / 0.9, lanes.clientWidth * (0.3 + n % 5 / 10));
      done();
    }));
    return [view.frames, gaps, Math.max(...view.drawn),
      (lanes.clientHeight / ROW + 2) * screen.width + 1000];
  })()`);
  const [size, drawn, frame] = name == "many_100000" ? [2e6, 500, 16] : [15e6, 2000, 33];
  check(things <= bound, `a frame draws ${things} things, more than ${bound}`);
  check(statSync(file).size <= size, "more than " + size + " bytes");
  check(ms < 8 * drawn && part(work, 0.95) < 8 * frame,    // of a slow machine that is busy, too
    `drawn after ${ms} ms, frames of ${part(work, 0.95)} ms`);
  console.log(`figure ${name}: ${(statSync(file).size / 1e6).toFixed(2)} MB, ` +
    `${await page.run("slices.count")} slices, drawn after ${ms.toFixed(0)} ms; a frame's work ` +
    `median ${part(work, 0.5)} ms, p95 ${part(work, 0.95)} ms, worst ${Math.max(...work).toFixed(1)} ms, ` +
    `${things} things drawn of ${Math.round(bound)}; between frames p95 ${part(gaps, 0.95)} ms`);
}

async function pictures(name, file) {
  mkdirSync(process.env.PICTURES, {recursive: true});
  for (const width of [1280, 390])
    for (const dark of [false, true]) {
      const page = await browser.open(file, {width, height: 900, dark});
      await page.until("root.dataset.ready == 'yes'");
      await settled(page);
      await pause(200);
      writeFileSync(`${process.env.PICTURES}/${name}_${width}_${dark ? "dark" : "light"}.png`,
        await page.picture());
      await page.close();
    }
}

async function narrow(file) {
  const page = await browser.open(file, {width: 390, height: 844, dark: true});
  await page.until("root.dataset.ready == 'yes'");
  const wide = await page.run("document.documentElement.scrollWidth");
  check(wide <= 391, `the page is ${wide} pixels wide on 390`);
  const columns = await page.run("[$('heads').children.length, columnsNow().length]");
  check(columns[0] == columns[1], "columns are missing on a phone");
  const scrolls = await page.run("$('heads').closest('.scroll').scrollWidth > 0 || !data.rows.length");
  check(scrolls && !page.errors.length, page.errors[0] || "the table cannot be reached");
  await page.close();
}

// The page of prof memory: its plot is drawn, a drag zooms, Esc shows the whole, a name hides.
async function usesMemory(page) {
  const size = () => page.run("used.to - used.from"), whole = await size();
  const drawn = () => page.run("(g => [...g.getImageData(0, 0, plot.width, plot.height).data]" +
    ".reduce((sum, n) => sum + n, 0))(plot.getContext('2d'))");
  const ink = await page.run("[...plot.getContext('2d').getImageData(plot.width >> 1, " +
    "(USE_HIGH - 3) * devicePixelRatio, 1, 1).data].join()");
  const inks = await page.run("USE_INKS.map(name => [...rgb(color(name)), 255].join())");
  check(inks.includes(ink), "drawn in " + ink);
  const [x, y, width] = await page.run("(r => [r.left, r.top, r.width])(plot.getBoundingClientRect())");
  await page.drag(x + width * 0.4, y + 40, x + width * 0.6, y + 40);
  check(await size() < whole / 2, "a drag does not zoom");
  await page.run("plot.focus()");
  await page.key("Escape");
  check(await size() == whole, "Esc does not show the whole");
  const before = await drawn();
  await page.run("$('use_keys').firstChild.click()");
  check(await drawn() != before, "a name hides nothing");
}

// A page or picture of another command: it loads, wide and narrow, and is drawn.
async function other(name, file) {
  for (const size of [{width: 1280, height: 900}, {width: 390, height: 844, dark: true}]) {
    const page = await browser.open(file, size);
    await settled(page);
    const wide = await page.run("document.documentElement.scrollWidth");
    check(file.endsWith(".svg") || wide <= size.width + 1, `${wide} pixels wide on ${size.width}`);
    const theme = await page.run("document.documentElement.getAttribute('data-theme')");
    check(theme == (size.dark ? "dark" : "light"), "the theme is " + theme);
    const back = await page.run("getComputedStyle(document.querySelector('section, #back'))" +
      "[document.querySelector('section') ? 'backgroundColor' : 'fill']");
    check(back == (size.dark ? "rgb(27, 29, 32)" : "rgb(255, 255, 255)"), "drawn on " + back);
    if (name == "other_memory") await usesMemory(page);
    check(!page.errors.length, page.errors[0]);
    if (process.env.PICTURES)
      writeFileSync(`${process.env.PICTURES}/${name}_${size.width}.png`, await page.picture());
    await page.close();
  }
}

// Of more slices than the page holds, the short ones are summed: it says so, and draws them.
async function sums(page) {
  const [summed, n] = await page.run("[told.summed[0], slices.count]");
  check(summed > 0 && n == 1 << 20, `${summed} slices are summed, ${n} are not`);
  const notes = await page.run("$('timeline_notes').textContent");
  check(notes.includes(summed.toLocaleString("en") + " slices"), "no note tells it: " + notes);
  const bins = await page.run("slices.tracks.reduce((s, t) => s + (t.bins[2] || []).reduce(" +
    "(a, b) => a + b, 0), 0)");
  check(bins == await page.run("told.summed[1]"), "the heights are not what was summed");
}

for (const argument of pages) {
  const [name, ...rest] = argument.split("="), file = rest.join("=");
  if (name.startsWith("other_")) {
    await test("page_" + name.slice(6), () => other(name, file));
    continue;
  }
  const page = await browser.open(file);
  await test("page_" + name + "_loads", async () => {
    await page.until("root.dataset.ready == 'yes'");
    const [n, all] = await page.run("[slices.count, told.count]");
    check(n == all, `${n} slices of ${all}`);
    const sum = await page.run("slices.tracks.reduce((s, t) => s + t.rows.reduce(" +
      "(m, r) => m + r.to - r.from, 0), 0)");
    check(sum == n, `${sum} slices in rows of ${n}`);
    const device = await page.run("[Boolean(data.device), document.querySelectorAll('.device').length > 0]");
    check(device[0] == device[1], "devices where there are none");
  });
  if (await page.run("slices.count")) {
    await test("page_" + name + "_draws", () => draws(page));
    await test("page_" + name + "_zooms", () => zooms(page));
    await test("page_" + name + "_measures", () => measures(page));
    await test("page_" + name + "_searches", () => searches(page));
    await test("page_" + name + "_clicks", () => clicks(page));
    await test("page_" + name + "_arrows", () => arrows(page));
    await test("page_" + name + "_step", () => picksStep(page, file.replace(/\.html$/, ".step.json")));
    await test("page_" + name + "_range", () => measuresRows(page, file.replace(/\.html$/, ".range.json")));
    await test("page_" + name + "_gaps", () => gaps(page, file.replace(/\.html$/, ".gaps.json")));
    if (!(await page.run("told.summed[0]")))
      await test("page_" + name + "_of_all", () => ofAll(page));
    if (name == "told") await test("page_parents_told", async () => {
      const parents = await page.run("[...slices.parent].flatMap((up, i) => up < 0 ? [] : " +
        "[names[slices.name[i]] + ' in ' + names[slices.name[up]]]).sort().join()");
      check(parents == "inner in outer,later in far", parents);
    });
    if (name == "steps") await test("page_reaches_steps", () => reachesSteps(page));
    if (name == "two_ranks")
      await test("page_side_by_side", () => sideBySide(page, file, true, ["rank0", "rank1"]));
    if (name == "diff_later") {
      await test("page_apart", () => sideBySide(page, file, false, ["rank0", "later"]));
      await test("page_compares_step", () => comparesStep(page, file, ["rank0", "later"]));
    }
    await test("page_" + name + "_pinches", () => pinches(page));
    await test("page_" + name + "_reads", () => reads(page));
    await test("page_" + name + "_figures", () => figures(name, file, page));
  }
  if (name == "none") await test("page_none_says_so", async () =>
    check(/nothing in this trace/.test(await page.run("$('notes_section').innerText")), "a page of nothing"));
  if (await page.run("told.summed[0]")) await test("page_" + name + "_sums", () => sums(page));
  await test("page_" + name + "_prints", () => prints(file));
  await test("page_" + name + "_narrow", () => narrow(file));
  await test("page_" + name + "_no_error", async () =>
    check(!page.errors.length, page.errors.join("; ").slice(0, 300)));
  await page.close();
  if (process.env.PICTURES) await pictures(name, file);
}
await browser.close();
process.exit(failed ? 1 : 0);
