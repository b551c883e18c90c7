/* The page of prof memory: see memory_page.h. All data stand in the page; nothing is loaded. */
#include "losses.h"
#include "memory_page.h"

#include <string.h>

const char *const memory_category_names[MEMORY_CATEGORIES] = {
    "parameter", "optimizer state", "input", "temporary", "activation", "gradient",
    "autograd detail", "unknown"
};

static const char *const head[] = {
    "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n",
    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n",
    "<style>\n",
    ":root{color-scheme:light dark;--line:#8884;--soft:#777}\n",
    "body{font:15px/1.45 system-ui,sans-serif;margin:1.2rem auto;max-width:76rem;padding:0 1rem}\n",
    "h1{font-size:1.15rem;margin:.2rem 0 .8rem;overflow-wrap:anywhere}\n",
    "canvas{width:100%;height:24rem;display:block;border:1px solid var(--line);touch-action:none;",
    "cursor:crosshair}\n",
    ".bar{display:flex;flex-wrap:wrap;gap:.4rem .9rem;align-items:center;margin:.6rem 0}\n",
    ".lost{background:#a3230f;color:#fff;padding:.4rem .7rem;border-radius:6px;",
    "overflow-wrap:anywhere}\n",
    "button,select{font:inherit;padding:.15rem .5rem}\n",
    ".key{border:0;background:none;cursor:pointer;color:inherit;padding:.15rem .2rem}\n",
    ".key i{display:inline-block;width:.8em;height:.8em;border-radius:2px;margin-right:.4em}\n",
    ".key.off{opacity:.35;text-decoration:line-through}\n",
    "#tip{min-height:3em;color:var(--soft);font-variant-numeric:tabular-nums}\n",
    "table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums}\n",
    "th,td{text-align:left;padding:.2rem .6rem .2rem 0;border-bottom:1px solid var(--line)}\n",
    "td:first-child{overflow-wrap:anywhere}\n",
    "td:nth-child(n+3),th:nth-child(n+3){text-align:right;white-space:nowrap}\n",
    "</style>\n<title>", NULL
};

static const char *const body[] = {
    "<div class=\"bar\"><label>Device <select id=\"device\"></select></label>\n",
    "<span id=\"keys\"></span>\n",
    "<button id=\"out\" hidden>Whole time (Esc)</button></div>\n",
    "<canvas id=\"plot\"></canvas>\n<p id=\"tip\"></p>\n",
    "<h2 style=\"font-size:1rem\">Who holds the memory at the peak</h2>\n",
    "<table><thead><tr><th>Op</th><th>Category</th><th>Bytes</th><th>Share</th></tr></thead>\n",
    "<tbody id=\"holders\"></tbody></table>\n<script>\n'use strict';\n", NULL
};

static const char *const script[] = {
    "const colours = ['#4e79a7', '#b07aa1', '#59a14f', '#edc948', '#f28e2b', '#e15759',\n",
    "  '#76b7b2', '#9c9c9c'];\n",
    "const $ = id => document.getElementById(id);\n",
    "const plot = $('plot'), draw = plot.getContext('2d');\n",
    "const shown = names.map(() => true), K = names.length;\n",
    "function bytes(n) {\n",
    "  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'], sign = n < 0 ? '-' : '';\n",
    "  let size = Math.abs(n), i = 0;\n",
    "  while (size >= 1024 && i < 4) { size /= 1024; i++; }\n",
    "  return sign + (i ? size.toFixed(2) : size) + ' ' + units[i];\n}\n",
    "function time(us) { return us >= 1e6 ? (us / 1e6).toFixed(4) + ' s' :\n",
    "  us >= 1e3 ? (us / 1e3).toFixed(3) + ' ms' : us.toFixed(3) + ' us'; }\n",
    "/* Changes come as [ns since the last, category, bytes]; states are made of them. */\n",
    "const begin = Math.min(...devices.map(d => d.begin));\n",
    "for (const d of devices) {\n",
    "  const n = d.changes.length / 3, sums = new Array(K).fill(0);\n",
    "  d.at = new Float64Array(n);\n",
    "  d.states = new Float64Array(n * K);\n",
    "  d.peak = 0;\n",
    "  let ns = d.begin - begin;\n",
    "  for (let i = 0; i < n; i++) {\n",
    "    ns += d.changes[3 * i];\n",
    "    sums[d.changes[3 * i + 1]] += d.changes[3 * i + 2];\n",
    "    d.at[i] = ns / 1000;\n",
    "    d.states.set(sums, i * K);\n",
    "    d.peak = Math.max(d.peak, sums.reduce((a, b) => a + b, 0));\n",
    "  }\n",
    "  d.end = n ? d.at[n - 1] : 1;\n",
    "}\n",
    "let device = devices.length > 1 ? devices.reduce((a, b) => b.peak > a.peak ? b : a) :\n",
    "  devices[0], view = null, drag = null;\n",
    "function whole() {\n",
    "  const first = device && device.at.length ? device.at[0] : 0;\n",
    "  return [first, Math.max(device ? device.end : 0, first + 1e-3)];\n",
    "}\n",
    "/* Index of the last change at or before this time, -1: none. */\n",
    "function last(us) {\n",
    "  let low = 0, high = device.at.length;\n",
    "  while (low < high) {\n",
    "    const middle = (low + high) >> 1;\n",
    "    if (device.at[middle] <= us) low = middle + 1; else high = middle;\n",
    "  }\n",
    "  return low - 1;\n",
    "}\n",
    "function sum(i) {\n",
    "  let total = 0;\n",
    "  for (let k = 0; i >= 0 && k < K; k++) if (shown[k]) total += device.states[i * K + k];\n",
    "  return total;\n",
    "}\n",
    "/* Of each column the state with the most memory: no peak is lost. */\n",
    "function columns(width) {\n",
    "  const most = new Int32Array(width);\n",
    "  let i = last(view[0]);\n",
    "  for (let x = 0; x < width; x++) {\n",
    "    const end = view[0] + (view[1] - view[0]) * (x + 1) / width;\n",
    "    most[x] = i;\n",
    "    while (i + 1 < device.at.length && device.at[i + 1] <= end) {\n",
    "      i++;\n",
    "      if (sum(i) > sum(most[x])) most[x] = i;\n",
    "    }\n",
    "  }\n",
    "  return most;\n",
    "}\n",
    "function short(text) { return text.replace(/(\\.\\d*?)0+ /, '$1 ').replace('. ', ' '); }\n",
    "/* A round distance of marks: of count or fewer on this length. */\n",
    "function step(length, count, base) {\n",
    "  let size = base ** Math.floor(Math.log(length / count) / Math.log(base));\n",
    "  for (const more of base === 2 ? [1, 2] : [1, 2, 5, 10])\n",
    "    if (length / (size * more) <= count) return size * more;\n",
    "  return size * base;\n",
    "}\n",
    "const left = 70, under = 24;\n",
    "function paint() {\n",
    "  const ratio = window.devicePixelRatio || 1, box = plot.getBoundingClientRect();\n",
    "  plot.width = box.width * ratio;\n",
    "  plot.height = box.height * ratio;\n",
    "  draw.setTransform(ratio, 0, 0, ratio, 0, 0);\n",
    "  draw.clearRect(0, 0, box.width, box.height);\n",
    "  const width = Math.max(Math.floor(box.width - left), 1), height = box.height - under;\n",
    "  const most = columns(width), top = Math.max(...Array.from(most, i => sum(i)), 1) * 1.05;\n",
    "  const base = new Float64Array(width);\n",
    "  for (let k = 0; k < K; k++) {\n",
    "    if (!shown[k]) continue;\n",
    "    draw.fillStyle = colours[k];\n",
    "    draw.beginPath();\n",
    "    for (let x = 0; x < width; x++) {\n",
    "      const size = most[x] < 0 ? 0 : device.states[most[x] * K + k] / top * height;\n",
    "      if (size > 0) draw.rect(left + x, height - base[x] - size, 1, size);\n",
    "      base[x] += size;\n",
    "    }\n",
    "    draw.fill();\n",
    "  }\n",
    "  draw.fillStyle = draw.strokeStyle = getComputedStyle(document.body).color;\n",
    "  draw.font = '11px system-ui, sans-serif';\n",
    "  draw.globalAlpha = .7;\n",
    "  const size = step(top, 5, 2);\n",
    "  for (let n = 0; n < top; n += size) {\n",
    "    draw.fillText(short(bytes(n)), 2,\n",
    "      Math.max(height - height * n / top - 2, 10));\n",
    "    draw.fillRect(left, height - height * n / top, width, .3);\n",
    "  }\n",
    "  const us = step(view[1] - view[0], width < 500 ? 3 : 6, 10);\n",
    "  draw.textAlign = 'center';\n",
    "  for (let t = Math.ceil(view[0] / us) * us; t <= view[1]; t += us) {\n",
    "    const x = left + width * (t - view[0]) / (view[1] - view[0]);\n",
    "    if (x < box.width - 20) draw.fillText(short(time(t)), x, height + 15);\n",
    "  }\n",
    "  draw.textAlign = 'left';\n",
    "  if (drag) draw.fillRect(Math.min(drag[0], drag[1]), 0, Math.abs(drag[1] - drag[0]), 3);\n",
    "  draw.globalAlpha = 1;\n",
    "  const full = whole();\n",
    "  $('out').hidden = view[0] === full[0] && view[1] === full[1];\n",
    "}\n",
    "function moment(x) {\n",
    "  const box = plot.getBoundingClientRect();\n",
    "  return view[0] + (view[1] - view[0]) * Math.min(Math.max((x - left) /\n",
    "    Math.max(box.width - left, 1), 0), 1);\n",
    "}\n",
    "function tell(us) {\n",
    "  const i = last(us), parts = [];\n",
    "  for (let k = 0; k < K; k++) if (shown[k] && i >= 0 && device.states[i * K + k])\n",
    "    parts.push(names[k] + ' ' + bytes(device.states[i * K + k]));\n",
    "  $('tip').textContent = time(us) + ': ' + bytes(sum(i)) +\n",
    "    (parts.length ? ' = ' + parts.join(' + ') : '');\n",
    "}\n",
    "function place(e) { return e.clientX - plot.getBoundingClientRect().left; }\n",
    "plot.addEventListener('pointerdown', e => {\n",
    "  drag = [place(e), place(e)];\n  plot.setPointerCapture(e.pointerId);\n});\n",
    "plot.addEventListener('pointermove', e => {\n",
    "  tell(moment(place(e)));\n  if (drag) { drag[1] = place(e); paint(); }\n});\n",
    "plot.addEventListener('pointerup', () => {\n",
    "  const from = moment(Math.min(...drag)), to = moment(Math.max(...drag));\n",
    "  if (Math.abs(drag[1] - drag[0]) > 5 && to > from) view = [from, to];\n",
    "  drag = null;\n  paint();\n});\n",
    "function reset() { view = whole(); paint(); }\n",
    "plot.addEventListener('dblclick', reset);\n",
    "$('out').addEventListener('click', reset);\n",
    "window.addEventListener('keydown', e => { if (e.key === 'Escape') reset(); });\n",
    "window.addEventListener('resize', () => paint());\n",
    "function choose(i) {\n",
    "  device = devices[i];\n",
    "  $('device').value = i;\n",
    "  $('holders').textContent = '';\n",
    "  holders.filter(h => h[0] === i).sort((a, b) => b[3] - a[3]).slice(0, 40).forEach(h => {\n",
    "    const row = $('holders').insertRow();\n",
    "    [h[1] === null ? '(no call in the trace)' : h[1], names[h[2]], bytes(h[3]),\n",
    "      (100 * h[3] / device.peak).toFixed(1) + ' %'].forEach(text => {\n",
    "      row.insertCell().textContent = text; });\n",
    "  });\n",
    "  $('tip').textContent = 'Peak: ' + bytes(device.peak) +\n",
    "    '. Point at the plot to read it, drag to zoom, click on a name to hide it.';\n",
    "  reset();\n",
    "}\n",
    "if (!device) {\n",
    "  $('tip').textContent = 'This trace has no memory events.';\n",
    "} else {\n",
    "  devices.forEach((d, i) => $('device').add(new Option(d.name, i)));\n",
    "  $('device').addEventListener('change', e => choose(+e.target.value));\n",
    "  names.forEach((name, k) => {\n",
    "    if (!devices.some(d => d.changes.some((c, i) => i % 3 === 1 && c === k))) return;\n",
    "    const key = document.createElement('button'), box = document.createElement('i');\n",
    "    key.className = 'key';\n    box.style.background = colours[k];\n",
    "    key.append(box, name);\n",
    "    key.onclick = () => { shown[k] = !shown[k]; key.classList.toggle('off', !shown[k]);\n",
    "      paint(); };\n",
    "    $('keys').append(key);\n",
    "  });\n",
    "  choose(devices.indexOf(device));\n",
    "}\n</script>\n</body>\n</html>\n", NULL
};

static void write_lines(output *out, const char *const *lines) {
    for (; *lines; lines++) output_text(out, *lines);
}

/* A text in the script, in which no tag can end it: "a" + "\u003c" + "b" for a<b. */
static void script_text(output *out, const char *text) {
    for (;;) {
        size_t size = strcspn(text, "<");
        output_json_text(out, text, size);
        if (!text[size]) break;
        output_text(out, " + \"\\u003c\" + ");
        text += size + 1;
    }
}

void memory_page_begin(memory_page *page, output *out, const char *title) {
    memset(page, 0, sizeof *page);
    page->out = out;
    write_lines(out, head);
    for (int i = 0; i < 2; i++) {
        output_text(out, i ? "</title>\n</head>\n<body>\n<h1>Memory: " : "");
        output_html_text(out, title, strlen(title));
    }
    output_text(out, "</h1>\n");
    text_list told = losses_told();
    for (size_t i = 0; i < told.count; i++) {
        output_text(out, "<p class=\"lost\" role=\"alert\">");
        output_html_text(out, told.items[i], strlen(told.items[i]));
        output_text(out, "</p>\n");
    }
    write_lines(out, body);
    output_text(out, "const names = [");
    for (int i = 0; i < MEMORY_CATEGORIES; i++)
        output_format(out, "%s\"%s\"", i ? ", " : "", memory_category_names[i]);
    output_text(out, "];\nconst devices = [");
    page->first = true;
}

static void close_device(memory_page *page) {
    if (page->device_open) output_text(page->out, "]}");
    page->device_open = false;
}

void memory_page_device(memory_page *page, const char *name) {
    bool first = page->first;
    close_device(page);
    output_format(page->out, "%s\n{\"name\": \"%s\", \"begin\": ", first ? "" : ",", name);
    page->device_open = true;
    page->first = false;
    page->last_ns = INT64_MIN;
}

void memory_page_change(memory_page *page, int64_t ns, int category, int64_t bytes) {
    bool first = page->last_ns == INT64_MIN;
    if (first) output_format(page->out, "%lld, \"changes\": [", (long long)ns);
    int64_t passed = first ? 0 : ns - page->last_ns;
    output_format(page->out, "%s%lld,%d,%lld", first ? "" : ",", (long long)passed, category,
                  (long long)bytes);
    page->last_ns = ns;
}

void memory_page_holders(memory_page *page) {
    close_device(page);
    output_text(page->out, "\n];\nconst holders = [");
    page->first = true;
}

void memory_page_holder(memory_page *page, uint32_t device, const char *op, int category,
                        int64_t bytes) {
    output_format(page->out, "%s\n[%u, ", page->first ? "" : ",", device);
    page->first = false;
    if (op) script_text(page->out, op);
    else output_text(page->out, "null");
    output_format(page->out, ", %d, %lld]", category, (long long)bytes);
}

void memory_page_end(memory_page *page) {
    output_text(page->out, "\n];\n");
    write_lines(page->out, script);
}
