// ---- prof memory: a stacked plot of memory by category; names, devices and holders are data ----

const colours = ['#4e79a7', '#b07aa1', '#59a14f', '#edc948', '#f28e2b', '#e15759',
  '#76b7b2', '#9c9c9c'];
const $ = id => document.getElementById(id);
const plot = $('plot'), draw = plot.getContext('2d');
const root = document.documentElement;
const shown = names.map(() => true), K = names.length;
function bytes(n) {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'], sign = n < 0 ? '-' : '';
  let size = Math.abs(n), i = 0;
  while (size >= 1024 && i < 4) { size /= 1024; i++; }
  return sign + (i ? size.toFixed(2) : size) + ' ' + units[i];
}
function time(us) { return us >= 1e6 ? (us / 1e6).toFixed(4) + ' s' :
  us >= 1e3 ? (us / 1e3).toFixed(3) + ' ms' : us.toFixed(3) + ' \u00b5s'; }
/* Changes come as [ns since the last, category, bytes]; states are made of them. */
const begin = Math.min(...devices.map(d => d.begin));
for (const d of devices) {
  const n = d.changes.length / 3, sums = new Array(K).fill(0);
  d.at = new Float64Array(n);
  d.states = new Float64Array(n * K);
  d.peak = 0;
  let ns = d.begin - begin;
  for (let i = 0; i < n; i++) {
    ns += d.changes[3 * i];
    sums[d.changes[3 * i + 1]] += d.changes[3 * i + 2];
    d.at[i] = ns / 1000;
    d.states.set(sums, i * K);
    d.peak = Math.max(d.peak, sums.reduce((a, b) => a + b, 0));
  }
  d.end = n ? d.at[n - 1] : 1;
}
let device = devices.length > 1 ? devices.reduce((a, b) => b.peak > a.peak ? b : a) :
  devices[0], view = null, drag = null;
function whole() {
  const first = device && device.at.length ? device.at[0] : 0;
  return [first, Math.max(device ? device.end : 0, first + 1e-3)];
}
/* Index of the last change at or before this time, -1: none. */
function last(us) {
  let low = 0, high = device.at.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (device.at[middle] <= us) low = middle + 1; else high = middle;
  }
  return low - 1;
}
function sum(i) {
  let total = 0;
  for (let k = 0; i >= 0 && k < K; k++) if (shown[k]) total += device.states[i * K + k];
  return total;
}
/* Of each column the state with the most memory: no peak is lost. */
function columns(width) {
  const most = new Int32Array(width);
  let i = last(view[0]);
  for (let x = 0; x < width; x++) {
    const end = view[0] + (view[1] - view[0]) * (x + 1) / width;
    most[x] = i;
    while (i + 1 < device.at.length && device.at[i + 1] <= end) {
      i++;
      if (sum(i) > sum(most[x])) most[x] = i;
    }
  }
  return most;
}
function short(text) { return text.replace(/(\.\d*?)0+ /, '$1 ').replace('. ', ' '); }
/* A round distance of marks: of count or fewer on this length. */
function step(length, count, base) {
  let size = base ** Math.floor(Math.log(length / count) / Math.log(base));
  for (const more of base === 2 ? [1, 2] : [1, 2, 5, 10])
    if (length / (size * more) <= count) return size * more;
  return size * base;
}
const left = 70, under = 24;
function paint() {
  const ratio = window.devicePixelRatio || 1, box = plot.getBoundingClientRect();
  plot.width = box.width * ratio;
  plot.height = box.height * ratio;
  draw.setTransform(ratio, 0, 0, ratio, 0, 0);
  draw.clearRect(0, 0, box.width, box.height);
  const width = Math.max(Math.floor(box.width - left), 1), height = box.height - under;
  const most = columns(width), top = Math.max(...Array.from(most, i => sum(i)), 1) * 1.05;
  const base = new Float64Array(width);
  for (let k = 0; k < K; k++) {
    if (!shown[k]) continue;
    draw.fillStyle = colours[k];
    draw.beginPath();
    for (let x = 0; x < width; x++) {
      const size = most[x] < 0 ? 0 : device.states[most[x] * K + k] / top * height;
      if (size > 0) draw.rect(left + x, height - base[x] - size, 1, size);
      base[x] += size;
    }
    draw.fill();
  }
  draw.fillStyle = draw.strokeStyle = getComputedStyle(document.body).color;
  draw.font = '11px system-ui, sans-serif';
  draw.globalAlpha = .7;
  const size = step(top, 5, 2);
  for (let n = 0; n < top; n += size) {
    draw.fillText(short(bytes(n)), 2,
      Math.max(height - height * n / top - 2, 10));
    draw.fillRect(left, height - height * n / top, width, .3);
  }
  const us = step(view[1] - view[0], width < 500 ? 3 : 6, 10);
  draw.textAlign = 'center';
  for (let t = Math.ceil(view[0] / us) * us; t <= view[1]; t += us) {
    const x = left + width * (t - view[0]) / (view[1] - view[0]);
    if (x < box.width - 20) draw.fillText(short(time(t)), x, height + 15);
  }
  draw.textAlign = 'left';
  if (drag) draw.fillRect(Math.min(drag[0], drag[1]), 0, Math.abs(drag[1] - drag[0]), 3);
  draw.globalAlpha = 1;
  const full = whole();
  $('out').hidden = view[0] === full[0] && view[1] === full[1];
}
function moment(x) {
  const box = plot.getBoundingClientRect();
  return view[0] + (view[1] - view[0]) * Math.min(Math.max((x - left) /
    Math.max(box.width - left, 1), 0), 1);
}
function tell(us) {
  const i = last(us), parts = [];
  for (let k = 0; k < K; k++) if (shown[k] && i >= 0 && device.states[i * K + k])
    parts.push(names[k] + ' ' + bytes(device.states[i * K + k]));
  $('tip').textContent = time(us) + ': ' + bytes(sum(i)) +
    (parts.length ? ' = ' + parts.join(' + ') : '');
}
function place(e) { return e.clientX - plot.getBoundingClientRect().left; }
plot.addEventListener('pointerdown', e => {
  drag = [place(e), place(e)];
  plot.setPointerCapture(e.pointerId);
});
plot.addEventListener('pointermove', e => {
  tell(moment(place(e)));
  if (drag) { drag[1] = place(e); paint(); }
});
plot.addEventListener('pointerup', () => {
  const from = moment(Math.min(...drag)), to = moment(Math.max(...drag));
  if (Math.abs(drag[1] - drag[0]) > 5 && to > from) view = [from, to];
  drag = null;
  paint();
});
function reset() { view = whole(); paint(); }
plot.addEventListener('dblclick', reset);
$('out').addEventListener('click', reset);
window.addEventListener('keydown', e => { if (e.key === 'Escape') reset(); });
window.addEventListener('resize', () => paint());
const dark = matchMedia('(prefers-color-scheme: dark)');
function setTheme(theme) {
  root.dataset.theme = theme;
  if (device) paint();
}
$('theme').onclick = () => setTheme(root.dataset.theme == 'dark' ? 'light' : 'dark');
dark.onchange = () => setTheme(dark.matches ? 'dark' : 'light');
root.dataset.theme = dark.matches ? 'dark' : 'light';
function choose(i) {
  device = devices[i];
  $('device').value = i;
  $('holders').textContent = '';
  holders.filter(h => h[0] === i).sort((a, b) => b[3] - a[3]).slice(0, 40).forEach(h => {
    const row = $('holders').insertRow();
    [h[1] === null ? '(no call in the trace)' : h[1], names[h[2]], bytes(h[3]),
      (100 * h[3] / device.peak).toFixed(1) + ' %'].forEach(text => {
      row.insertCell().textContent = text; });
  });
  $('tip').textContent = 'Peak: ' + bytes(device.peak) +
    '. Point at the plot to read it, drag to zoom, click on a name to hide it.';
  reset();
}
if (!device) {
  $('tip').textContent = 'This trace has no memory events.';
} else {
  devices.forEach((d, i) => $('device').add(new Option(d.name, i)));
  $('device').addEventListener('change', e => choose(+e.target.value));
  names.forEach((name, k) => {
    if (!devices.some(d => d.changes.some((c, i) => i % 3 === 1 && c === k))) return;
    const key = document.createElement('button'), box = document.createElement('i');
    key.className = 'key';
    box.style.background = colours[k];
    key.append(box, name);
    key.onclick = () => { shown[k] = !shown[k]; key.classList.toggle('off', !shown[k]);
      paint(); };
    $('keys').append(key);
  });
  choose(devices.indexOf(device));
}
