// ---- Slices: what ran when, what lies in what, who launched what: the columns of the page's data,
// as ../output/timeline.c writes them ----
//
// They stand by row: all slices of a track's row 0, by their start, then those of its row 1, and so
// on. In a row no two overlap, so that a moment is found by bisection.

const CLASSES = ["zone", "op", "annotation", "python", "runtime", "overhead", "compute",
  "communication", "copy", "waiting", "device_annotation"];
const CLASS_TEXTS = ["zones", "ops", "annotations", "Python", "runtime calls", "overhead",
  "kernels", "communication", "copies and fills", "waiting, spans", "annotations on devices"];
const [ZONE, OP, ANNOTATION, PYTHON, RUNTIME, OVERHEAD, COMPUTE, COMMUNICATION, COPY, WAITING,
  DEVICE_ANNOTATION] = CLASSES.keys();

const told = data.timeline;
const slices = {count: 0};      // the columns, once they are read
const names = told.names.map(([text]) => plain(text));
const classOf = Uint8Array.from(told.names, name => name[1]);
const onDevice = name => classOf[name] >= COMPUTE && classOf[name] != WAITING ? 1 : 0;
const isWork = i => classOf[slices.name[i]] >= COMPUTE && classOf[slices.name[i]] <= COPY;

async function unpack(text) {
  const binary = atob(text), packed = new Uint8Array(binary.length);
  for (let i = 0; i < packed.length; i++) packed[i] = binary.charCodeAt(i);
  if (told.packed == "plain") return packed;
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

// The numbers of a column, 7 bits a byte: take() gives the next one.
function numbers(bytes) {
  let at = 0;
  const take = () => {
    let byte = bytes[at++], number = byte & 127, scale = 128;
    while (byte & 128) {
      byte = bytes[at++];
      number += (byte & 127) * scale;
      scale *= 128;
    }
    return number;
  };
  const signed = () => {
    const n = take();
    return n % 2 ? -(n + 1) / 2 : n / 2;
  };
  return {take, signed, more: () => at < bytes.length};
}

function readTracks() {
  let at = 0;
  return told.tracks.map(([process, tid, name, sizes, device, async, summed, ...bins], number) => {
    const track = {number, process, file: told.processes[process][0], tid, name: plain(name),
      from: at, rows: sizes.map(size => ({from: at, to: at += size})), to: at,
      device, async, summed, bins, marks: []};
    track.title = track.name.trim() ? track.name.trim() :
      tid ? (device ? /^\d+$/.test(tid) ? "stream " : "" : "thread ") + tid : "no thread";
    if (async) track.title += " (asynchronous)";
    return track;
  });
}

// The longest slice of each 16, of each 256, ... : what is drawn where many fall in one pixel.
function levels() {
  const {count, dur} = slices, list = [];
  for (let below = null, size = 16; size < count * 16; size *= 16) {
    const longest = new Uint32Array(Math.ceil(count / size));
    for (let i = 0; i < longest.length; i++) {
      let most = -1;
      for (let k = i * 16; k < Math.min((i + 1) * 16, below ? below.length : count); k++) {
        const one = below ? below[k] : k;
        if (most < 0 || dur[one] > dur[most]) most = one;
      }
      longest[i] = most;
    }
    list.push(below = longest);
  }
  return list;
}
function longest(from, to) {
  const {dur, levels} = slices;
  let most = from;
  for (let i = from; i < to;) {
    let level = -1, size = 1;
    while (level + 1 < levels.length && i % (size * 16) == 0 && i + size * 16 <= to) {
      size *= 16;
      level++;
    }
    const one = level < 0 ? i : levels[level][i / size];
    if (dur[one] > dur[most]) most = one;
    i += size;
  }
  return most;
}

function readArrows(n) {
  let work = 0, launch = 0, owner = 0;
  while (n.more()) {
    work += n.take();
    slices.launch[work] = launch += n.signed();
    slices.owner[work] = owner += n.signed();
  }
}

function readArgs(n) {
  let slice = 0, at = 0;
  slices.args = new Map();
  while (n.more()) {
    slice += n.take();
    const size = n.take();
    slices.args.set(slice, [at, size]);
    at += size;
  }
}

// Of memory: [process, ns, bytes of the host, of devices, the call it was in, or -1].
function readChanges(n) {
  slices.changes = [];
  for (let at = 0; n.more(); )
    slices.changes.push([n.take(), at += n.signed(), n.signed(), n.signed(), n.take() - 1]);
}

async function readSlices() {
  const columns = ["starts", "durations", "inner", "parents", "slice_names", "arrows", "args_of",
    "args", "changes", "gaps"];
  const [starts, durations, inner, parents, called, arrows, argsOf, args, changes, gaps] =
    await Promise.all(columns.map(name => unpack(told[name])));
  await Promise.all(data.memory.map(readMemory));
  const n = told.count;
  Object.assign(slices, {count: n, start: new Float64Array(n), dur: new Float64Array(n),
    name: new Uint32Array(n), parent: new Int32Array(n), track: new Uint32Array(n),
    self: new Float64Array(n), launch: new Int32Array(n).fill(-1),
    owner: new Int32Array(n).fill(-1), argsText: args});
  slices.tracks = readTracks();
  const s = numbers(starts), d = numbers(durations), own = numbers(inner), p = numbers(parents);
  const c = numbers(called);
  let parent = -1;
  for (const track of slices.tracks)
    for (const row of track.rows)
      for (let i = row.from, at = 0; i < row.to; i++) {
        slices.parent[i] = parent += p.signed();
        const from = parent >= 0 && parent < i ? Math.max(at, slices.start[parent]) : at;
        slices.start[i] = at = from + s.signed();
        at += slices.dur[i] = d.signed();
        slices.self[i] += slices.dur[i] - own.signed();
        slices.self[parent] -= slices.dur[i];    // (no parent: nothing)
        slices.name[i] = c.take();
        slices.track[i] = track.number;
      }
  slices.levels = levels();
  readArrows(numbers(arrows));
  readArgs(numbers(argsOf));
  readChanges(numbers(changes));
  readGaps(numbers(gaps));
  for (const [track, at, text] of told.instants)
    if (slices.tracks[track]) slices.tracks[track].marks.push([at, plain(text)]);
  for (const {marks} of slices.tracks) marks.sort((a, b) => a[0] - b[0]);
  slices.steps = [];
  for (let i = 0; i < n; i++)
    if (classOf[slices.name[i]] == ANNOTATION && names[slices.name[i]].startsWith("ProfilerStep#"))
      slices.steps.push(i);
}

// [ns, allocated, reserved] of each point, out of what each is more than the one before.
async function readMemory(line) {
  const n = numbers(await unpack(line.points)), point = [0, 0, 0];
  line.points = [];
  while (n.more()) line.points.push(point.map((at, k) => point[k] = at + n.signed()));
}

// First in [from, to) whose value is above this one; the values grow.
function above(value, from, to, at) {
  while (from < to) {
    const middle = (from + to) >> 1;
    if (value(middle) > at) to = middle;
    else from = middle + 1;
  }
  return from;
}
const endOf = i => slices.start[i] + slices.dur[i];
const rowOf = i => slices.tracks[slices.track[i]].rows.findIndex(r => i >= r.from && i < r.to);

function childrenOf(i) {
  const track = slices.tracks[slices.track[i]], row = track.rows[rowOf(i) + 1], list = [];
  if (!row) return list;
  for (let c = above(endOf, row.from, row.to, slices.start[i] - 1); c < row.to; c++) {
    if (slices.start[c] > endOf(i)) break;
    if (slices.parent[c] == i) list.push(c);
  }
  return list;
}
function argsOf(i) {
  const place = slices.args.get(i);
  if (!place) return null;
  const text = new TextDecoder().decode(slices.argsText.subarray(place[0], place[0] + place[1]));
  // Numbers that a double cannot hold stay as they stand in the file.
  const exact = (key, value, context) =>
    typeof value == "number" && !Number.isSafeInteger(value) && Number.isInteger(value) &&
    context && context.source ? context.source : value;
  try {
    return JSON.parse(text, exact);
  } catch {
    return {args: text};
  }
}
