// ---- The flame graph of the CPU's time: made of the slices in the range ----

let nodes = [], rootNode = 0, boxes = [];

// Node 0 is all threads; a Python function is not in it, what it calls is.
function growFlame() {
  const of = new Int32Array(slices.count), known = new Map();
  nodes = [{name: "all threads", kind: ZONE, parent: 0, total: 0, count: 0, children: []}];
  rootNode = 0;
  for (let i = 0; i < slices.count; i++) {
    const name = slices.name[i], kind = classOf[name], up = slices.parent[i];
    const parent = up < 0 ? 0 : of[up], track = slices.tracks[slices.track[i]];
    of[i] = parent;
    if (kind == PYTHON || kind > OVERHEAD || track.async || !inRange(i)) continue;
    const text = rowText(name), key = parent + " " + text;
    let node = known.get(key);
    if (node === undefined) {
      known.set(key, node = nodes.length);
      nodes.push({name: text, kind, parent, total: 0, count: 0, children: []});
      nodes[parent].children.push(node);
    }
    of[i] = node;
    nodes[node].total += slices.dur[i] / 1e3;
    nodes[node].count++;
    if (!parent) nodes[0].total += slices.dur[i] / 1e3;
  }
  for (const n of nodes) n.children.sort((a, b) => nodes[b].total - nodes[a].total);
}

function placeBoxes() {
  let deepest = 0;
  boxes = [];
  const open = [[rootNode, 0, 1, 0]];
  while (open.length) {
    const box = open.pop(), [i, x, w, depth] = box;
    deepest = Math.max(deepest, depth);
    boxes.push(box);
    let left = x;
    for (const child of nodes[i].children) {
      const size = nodes[i].total > 0 ? w * nodes[child].total / nodes[i].total : 0;
      if (size > 0.0004 && depth < 400) open.push([child, left, size, depth + 1]);
      left += size;
    }
  }
  return deepest;
}
function flame() {
  const tall = 20, canvas = $("flame"), word = $("flame_search").value.toLowerCase();
  $("flame_section").hidden = nodes.length < 2;
  if (nodes.length < 2) return;
  const [g, width] = prepare(canvas, (placeBoxes() + 1) * tall);
  const found = color("found"), ink = root.dataset.theme == "dark" ? "#fff" : "#15171a";
  let matching = 0;
  for (const [i, x, w, depth] of boxes) {
    const n = nodes[i], match = word && n.name.toLowerCase().includes(word);
    matching += match ? 1 : 0;
    g.globalAlpha = word && !match ? 0.45 : i % 2 ? 1 : 0.86;
    g.fillStyle = match ? found : color(i ? hueOf(n.name, n.kind) : "track");
    g.fillRect(x * width, depth * tall, Math.max(w * width - 0.7, 0.4), tall - 1);
    g.globalAlpha = 1;
    if (w * width < 28) continue;
    g.fillStyle = ink;
    g.fillText(fittedText(g, n.name, w * width - 8), x * width + 4, depth * tall + tall / 2);
  }
  $("out").disabled = rootNode == 0;
  $("flame_note").textContent = word ? count(matching) + " frames match." :
    "Click a frame to zoom in." + (data.compare ? " It is of both traces." : "") + (told.summed[0]
      ? " Without the short slices that are not in the timeline." : "");
  const at = e => {
    const place = e.offsetX / canvas.clientWidth, level = Math.floor(e.offsetY / tall);
    return boxes.find(([, x, w, depth]) => depth == level && place >= x && place < x + w);
  };
  canvas.onmousemove = e => {
    const box = at(e), n = box && nodes[box[0]];
    tip(e, n ? n.name + "\n" + time(n.total) + ", " + (100 * n.total / nodes[0].total).toFixed(2) +
      " %" + (box[0] ? ", " + count(n.count) + " calls" : "") : "");
  };
  canvas.onclick = e => {
    const box = at(e);
    if (!box) return;
    rootNode = box[0] == rootNode && rootNode ? nodes[rootNode].parent : box[0];
    flame();
  };
}
$("out").onclick = () => { rootNode = rootNode ? nodes[rootNode].parent : 0; flame(); };
$("flame_search").oninput = flame;
