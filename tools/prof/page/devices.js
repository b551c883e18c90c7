// ---- What devices did: [process, name, ns from first to last, compute, exposed communication,
// exposed copies, all busy], by the rules of prof gaps. Of a range the page counts them itself ----

let works = null;                   // process -> its device work, by begin
function deviceWorks() {
  if (works) return works;
  works = new Map();
  for (let i = 0; i < slices.count; i++) {
    const {process} = slices.tracks[slices.track[i]];
    if (!isWork(i)) continue;
    if (!works.has(process)) works.set(process, []);
    works.get(process).push(i);
  }
  for (const list of works.values()) list.sort((a, b) => slices.start[a] - slices.start[b]);
  return works;
}
const someSummed = process => slices.tracks.some(track =>
  track.process == process && track.device && track.summed);

// Of works by their begin: as busy_add() of ../busy.c. A kind that has begun goes on without a hole
// to its latest end, or is over.
function timesOf(list) {
  const first = list.length ? slices.start[list[0]] : 0, ends = [first, first, first];
  const kinds = [0, 0, 0], length = (from, to) => Math.max(0, to - from);
  let last = first, busy = 0, overlap = 0, copies = 0;
  for (const i of list) {
    const kind = classOf[slices.name[i]] - COMPUTE, start = slices.start[i], end = endOf(i);
    const from = Math.max(start, ends[kind]), both = Math.max(ends[0], ends[1]);
    busy += length(Math.max(start, last), end);
    last = Math.max(last, end);
    if (end <= from) continue;
    kinds[kind] += end - from;
    if (kind == 2) {
      copies += length(Math.max(from, both), end);
    } else {
      overlap += length(from, Math.min(ends[1 - kind], end));
      copies -= length(Math.max(start, both), Math.min(ends[2], end));
    }
    ends[kind] = end;
  }
  return [last - first, kinds[0], kinds[1] - overlap, copies, busy];
}
// As data.devices, of the works that begin in the range; null: the page does not have them all.
function devicesNow() {
  if (!range) return data.devices;
  return data.devices.map(([process, name]) => [process, name, ...someSummed(process) ? [null]
    : timesOf((deviceWorks().get(process) || []).filter(inRange))]);
}

function deviceRow([process, name, span, ...ns]) {
  const row = element("tr"), bar = element("div", undefined, "parts"), all = Math.max(1, span);
  const [, pid] = told.processes[process], index = name.split(" ")[1];
  const title = fileText(told.processes[process][0]) + plain(name) +
    (pid == index ? "" : " (pid " + plain(pid) + ")");
  const share = n => span ? (100 * n / all).toFixed(1) + " %" : "";
  const cells = span === null
    ? [title, "not known: short ones are not in the page", "", "", "", ""]
    : [title, span ? time(span / 1e3) : "no work", ...ns.slice(0, 3).map(share), share(span - ns[3])];
  [["compute", COMPUTE], ["exposed communication", COMMUNICATION],
    ["exposed copies", COPY]].forEach(([text, kind], k) => {
    const part = element("i");
    part.style.width = span ? 100 * ns[k] / all + "%" : "0";
    part.style.background = "var(--" + CLASSES[kind] + ")";
    part.title = text + ": " + cells[k + 2];
    bar.append(part);
  });
  row.append(...cells.map(text => element("td", text)));
  row.firstChild.append(bar);
  return row;
}
function devices() {
  const ranks = data.ranks ? data.ranks.ranks.length : 0;    // they tell the same, and more
  $("devices_section").hidden = !data.devices.length ||
    (ranks > 1 && ranks == data.devices.length);
  $("devices").replaceChildren(...devicesNow().map(deviceRow));
}
