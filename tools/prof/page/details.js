// ---- The chosen slice, and the search ----

function linkTo(i, text) {
  const button = element("button", text || names[slices.name[i]], "link");
  button.onclick = () => { goTo(i); };
  return button;
}
function term(list, name, ...values) {
  const dd = element("dd");
  values.forEach((value, k) => {
    if (k) dd.append(document.createElement("br"));
    dd.append(value);
  });
  list.append(element("dt", name), dd);
}

// [from, to] of the arrows that begin or end at a slice: launches and what they launched.
function arrowsOf(i) {
  if (isWork(i)) return slices.launch[i] >= 0 ? [[slices.launch[i], i]] : [];
  return launchedBy(i).slice(0, 200).map(work => [i, work]);
}
let launched = null;
function launchedBy(i) {
  if (!launched) {
    launched = new Map();
    for (let k = 0; k < slices.count; k++) {
      for (const by of new Set([slices.launch[k], slices.owner[k]])) {
        if (by < 0) continue;
        if (!launched.has(by)) launched.set(by, []);
        launched.get(by).push(k);
      }
    }
  }
  return launched.get(i) || [];
}

function listOf(list, most) {
  const links = list.slice(0, most).map(i => {
    const span = element("span");
    span.append(linkTo(i), document.createTextNode("  " + time(slices.dur[i] / 1e3)));
    return span;
  });
  if (list.length > most) links.push("and " + count(list.length - most) + " more");
  return links;
}
function showArgs(i) {
  const dl = element("dl"), args = argsOf(i);
  dl.id = "args";
  for (const [key, value] of Object.entries(args || {}))
    term(dl, plain(key), typeof value == "string" ? value.replace(/;/g, ";\n") :
      JSON.stringify(value));
  if (!args) term(dl, "Arguments", told.args_left
    ? "not in this page, or none: see above" : "none");
  return dl;
}
function choose(i) {
  const box = $("details");
  view.chosen = i === undefined ? -1 : i;
  box.hidden = view.chosen < 0;
  repaint();
  if (view.chosen < 0) return;
  const track = slices.tracks[slices.track[i]], dl = element("dl"), parent = slices.parent[i];
  const children = childrenOf(i).sort((a, b) => slices.dur[b] - slices.dur[a]);
  const works = isWork(i) ? [] : launchedBy(i);
  term(dl, "What", CLASS_TEXTS[classOf[slices.name[i]]]);
  term(dl, "Begins", exact(slices.start[i]));
  term(dl, "Takes", time(slices.dur[i] / 1e3));
  if (!track.device) term(dl, "Of its own", time(slices.self[i] / 1e3));
  term(dl, "Where", titleOf(track.process), plain(track.title));
  if (parent >= 0) term(dl, "Within", linkTo(parent));
  if (slices.launch[i] >= 0) term(dl, "Launched by", linkTo(slices.launch[i]),
    "after " + time((slices.start[i] - slices.start[slices.launch[i]]) / 1e3));
  if (slices.owner[i] >= 0 && slices.owner[i] != slices.launch[i])
    term(dl, "Counts for", linkTo(slices.owner[i]));
  if (works.length) term(dl, "Launched", ...listOf(works, 8));
  if (children.length) term(dl, "Calls", ...listOf(children, 8));
  const head = element("div", undefined, "head"), columns = element("div", undefined, "columns");
  const all = element("button", "All calls of this name");
  all.onclick = () => showCalls(rowText(slices.name[i]), onDevice(slices.name[i]));
  head.append(element("h3", names[slices.name[i]]), all);
  columns.append(dl, showArgs(i));
  box.replaceChildren(head, columns);
}

// ---- Search ----

let matches = 0;
function search() {
  const word = $("search").value.toLowerCase();
  view.found = null;
  matches = 0;
  if (word) {
    view.found = Uint8Array.from(names, name => name.toLowerCase().includes(word) ? 1 : 0);
    for (let i = 0; i < slices.count; i++) matches += view.found[slices.name[i]];
  }
  $("next").disabled = $("previous").disabled = !matches;
  $("found").textContent = word ? count(matches) + (matches == 1 ? " slice" : " slices") : "";
  inks = null;
  repaint();
}
// The next match by time; of those that begin together, by place.
function stepMatch(by) {
  if (!view.found || !matches) return;
  const {start, name, count: n} = slices, now = view.chosen;
  const is = i => view.found[name[i]];
  const before = (a, b) => start[a] != start[b] ? start[a] < start[b] : a < b;
  let next = -1, edge = -1, rank = 1;
  for (let i = 0; i < n; i++) {
    if (!is(i)) continue;
    if (edge < 0 || (by > 0 ? before(i, edge) : before(edge, i))) edge = i;
    if (now < 0 || i == now) continue;
    const ahead = by > 0 ? before(now, i) : before(i, now);
    if (ahead && (next < 0 || (by > 0 ? before(i, next) : before(next, i)))) next = i;
  }
  if (next < 0) next = edge;
  for (let i = 0; i < n; i++) if (is(i) && before(i, next)) rank++;
  $("found").textContent = count(rank) + " of " + count(matches);
  goTo(next);
}
$("search").oninput = search;
$("search").onkeydown = e => {
  if (e.key == "Enter") stepMatch(e.shiftKey ? -1 : 1);
  if (e.key == "Escape") { $("search").value = ""; search(); canvas.focus(); }
};
$("next").onclick = () => stepMatch(1);
$("previous").onclick = () => stepMatch(-1);
$("closer").onclick = () => KEYS.w();
$("farther").onclick = () => KEYS.s();
$("whole").onclick = () => KEYS.Escape();
