// ---- What memory was used for, as prof memory has it: a device's by category, over time; who holds
// its peak. data.memory_use has the names of the categories; devices: [name, ns when it begins,
// changes: ns since the last one, category, bytes]; holders: [device, op, category, bytes] ----

const use = data.memory_use, plot = $("use");
const USE_INKS = ["zone", "annotation", "python", "device_annotation", "compute", "communication",
  "copy", "runtime"];
const USE_LEFT = 78, USE_HIGH = 360, MOST_HOLDERS = 40;
const used = {device: null, from: 0, to: 1, drag: null, off: new Set()};

// The sums by category after each change.
function readUse([name, begin, changes], first) {
  const n = changes.length / 3, size = use.categories.length, sums = new Array(size).fill(0);
  const device = {name, at: new Float64Array(n), states: new Float64Array(n * size), peak: 0};
  let ns = begin - first;
  for (let i = 0; i < n; i++) {
    device.at[i] = ns += changes[3 * i];
    sums[changes[3 * i + 1]] += changes[3 * i + 2];
    device.states.set(sums, i * size);
    device.peak = Math.max(device.peak, sums.reduce((a, b) => a + b, 0));
  }
  device.end = Math.max(n ? ns : 0, (n ? device.at[0] : 0) + 1);
  return device;
}
const lastUse = ns => above(n => used.device.at[n], 0, used.device.at.length, ns) - 1;
const usedBy = (i, k) => i < 0 || used.off.has(k) ? 0
  : used.device.states[i * use.categories.length + k];
const usedAt = i => use.categories.reduce((sum, name, k) => sum + usedBy(i, k), 0);

// Of each column of pixels the state with the most memory: no peak is lost.
function useColumns(width) {
  const most = new Int32Array(width), {at} = used.device;
  let i = lastUse(used.from);
  for (let x = 0; x < width; x++) {
    const end = used.from + (used.to - used.from) * (x + 1) / width;
    most[x] = i;
    for (; i + 1 < at.length && at[i + 1] <= end; i++)
      if (usedAt(i + 1) > usedAt(most[x])) most[x] = i + 1;
  }
  return most;
}
// Marks of bytes stand at powers of two.
function drawBytes(g, top, width) {
  let size = 1;
  while (top / size > 5) size *= 2;
  g.fillStyle = color("soft");
  for (let n = 0; n < top; n += size) {
    const y = USE_HIGH - USE_HIGH * n / top;
    g.fillText(bytes(n).replace(/\.00 /, " "), 2, Math.max(7, y - (n ? 0 : 6)));
    g.fillRect(USE_LEFT, y, width, 0.5);
  }
}
function drawUse() {
  if (!used.device) return;
  const [g, whole] = prepare(plot, USE_HIGH + 24), width = Math.max(1, Math.floor(whole - USE_LEFT));
  const most = useColumns(width), base = new Float64Array(width);
  const top = 1.05 * most.reduce((high, i) => Math.max(high, usedAt(i)), 1);
  use.categories.forEach((name, k) => {
    g.fillStyle = color(USE_INKS[k]);
    most.forEach((i, x) => {
      const high = Math.max(0, usedBy(i, k)) / top * USE_HIGH;
      if (high) g.fillRect(USE_LEFT + x, USE_HIGH - base[x] - high, 1, high);
      base[x] += high;
    });
  });
  drawBytes(g, top, width);
  g.translate(USE_LEFT, 0);
  axis(g, width, USE_HIGH + 14, used.from, used.to);
  g.fillStyle = color("accent");
  g.globalAlpha = 0.2;
  if (used.drag) g.fillRect(used.drag[0] - USE_LEFT, 0, used.drag[1] - used.drag[0], USE_HIGH);
  $("use_whole").hidden = used.from == (used.device.at[0] || 0) && used.to == used.device.end;
}
function showUse(from, to) {
  Object.assign(used, {from, to, drag: null});
  drawUse();
}
const wholeUse = () => used.device && showUse(used.device.at[0] || 0, used.device.end);

function momentOfUse(x) {
  const part = (x - USE_LEFT) / Math.max(1, plot.clientWidth - USE_LEFT);
  return used.from + (used.to - used.from) * Math.min(1, Math.max(0, part));
}
function tellUse(ns) {
  const i = lastUse(ns), parts = use.categories.flatMap((name, k) =>
    usedBy(i, k) ? [name + " " + bytes(usedBy(i, k))] : []);
  $("use_told").textContent = exact(ns) + ": " + bytes(usedAt(i)) +
    (parts.length ? " = " + parts.join(" + ") : "");
}
function chooseUse(number) {
  used.device = used.devices[number];
  $("use_device").value = number;
  fillSheet("holders", ["Op", "Category", "Bytes", "Share"], use.holders
    .filter(([device]) => device == number).sort((a, b) => b[3] - a[3]).slice(0, MOST_HOLDERS)
    .map(([, op, category, size]) => [op === null ? "(no call in the trace)" : plain(op),
      use.categories[category], bytes(size), (100 * size / used.device.peak).toFixed(1) + " %"]));
  $("use_told").textContent = "Peak: " + bytes(used.device.peak) +
    ". Point at the plot to read it, drag to zoom, click on a name to hide it.";
  wholeUse();
}
function useKeys() {
  const there = new Set(use.devices.flatMap(([, , changes]) =>
    changes.filter((n, i) => i % 3 == 1)));
  $("use_keys").replaceChildren(...use.categories.flatMap((name, k) => {
    const key = element("button", undefined, "key"), box = element("i", "", "dot");
    if (!there.has(k)) return [];
    box.style.background = "var(--" + USE_INKS[k] + ")";
    key.append(box, name);
    key.setAttribute("aria-pressed", "true");
    key.onclick = () => {
      if (!used.off.delete(k)) used.off.add(k);
      key.setAttribute("aria-pressed", String(!used.off.has(k)));
      drawUse();
    };
    return [key];
  }));
}

plot.addEventListener("pointerdown", e => {
  used.drag = [e.offsetX, e.offsetX];
  plot.setPointerCapture(e.pointerId);
});
plot.addEventListener("pointermove", e => {
  tellUse(momentOfUse(e.offsetX));
  if (used.drag) used.drag[1] = e.offsetX;
  if (used.drag) drawUse();
});
plot.addEventListener("pointerup", () => {
  if (!used.drag) return;
  const [a, b] = used.drag.sort((x, y) => x - y), from = momentOfUse(a), to = momentOfUse(b);
  if (b - a > 5 && to > from) return showUse(from, to);
  used.drag = null;
  drawUse();
});
plot.addEventListener("pointercancel", () => { used.drag = null; });
plot.addEventListener("dblclick", wholeUse);
plot.addEventListener("keydown", e => { if (e.key == "Escape") wholeUse(); });
$("use_whole").onclick = wholeUse;
$("use_device").onchange = e => chooseUse(Number(e.target.value));

function fillUse() {
  $("use_section").hidden = !use;
  if (!use) return;
  const first = Math.min(...use.devices.map(([, begin]) => begin));
  used.devices = use.devices.map(device => readUse(device, first));
  $("use_device").append(...used.devices.map(({name}, n) => new Option(name, n)));
  $("use_told").textContent = "This trace has no memory events.";
  useKeys();
  const most = used.devices.reduce((best, {peak}, n) => peak > used.devices[best].peak ? n : best, 0);
  if (used.devices.length) chooseUse(most);
}
