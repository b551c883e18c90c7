// ---- Slices: what ran when, from the columns of the page's data ----
//
// Once read they stand by row: all slices of a track's depth 0, by their start, then those of its
// depth 1, and so on. In a row no two overlap, so that a moment is found by bisection.

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

// The depth of each slice: the first row below the innermost slice around it that is free.
const DEEPEST = 5000;
function nest(start, dur, from, to) {
  const depth = new Uint16Array(to - from), parent = new Int32Array(to - from).fill(-1);
  const ends = [], last = [];                    // of each row, when it is free, its last slice
  let open = 0;
  for (let i = from; i < to; i++) {
    const begin = start[i], end = begin + dur[i];
    while (open && ends[open - 1] <= begin) open--;
    let d = open;
    while (d && (ends[d - 1] < end || ends[d - 1] <= begin)) d--;
    if (d) parent[i - from] = last[d - 1];
    while (d < open && ends[d] > begin) d++;
    if (d > DEEPEST) d = DEEPEST;
    depth[i - from] = d;
    ends[d] = end;
    last[d] = i;
    if (open <= d) open = d + 1;
  }
  return {depth, parent};
}

// Puts a track's slices in rows; to: the columns by row, places: of each slice, its place there.
function fileTrack(track, read, to, places) {
  const {from, to: end} = track, {depth, parent} = nest(read.start, read.dur, from, end);
  const sizes = [];
  for (const d of depth) sizes[d] = (sizes[d] || 0) + 1;
  let first = from;
  track.rows = sizes.map(size => ({from: first, to: first += size}));
  const next = track.rows.map(row => row.from);
  for (let i = from; i < end; i++) {
    const place = places[i] = next[depth[i - from]]++;
    to.start[place] = read.start[i];
    to.dur[place] = read.dur[i];
    to.name[place] = read.name[i];
    to.parent[place] = parent[i - from] < 0 ? -1 : places[parent[i - from]];
    to.track[place] = track.number;
  }
}

function readTracks() {
  let from = 0;
  return told.tracks.map(([process, tid, name, size, device, async, summed, ...bins], number) => {
    const track = {number, process, file: told.processes[process][0], tid, name: plain(name),
      from, to: from += size,
      device, async, summed, bins, rows: [], marks: []};
    track.title = track.name && track.name.trim() ? track.name : (device ? /^\d+$/.test(tid) ? "stream " : "" : "thread ") + tid;
    if (async) track.title += " (asynchronous)";
    return track;
  });
}

// Self times as the table has them: less the calls inside, whatever Python functions are between.
function takeSelf() {
  const {count, dur, parent, name, self} = slices;
  self.set(dur);
  for (let i = 0; i < count; i++) {
    let p = parent[i];
    if (p < 0) continue;
    if (classOf[name[p]] == PYTHON) self[p] -= dur[i];
    if (classOf[name[i]] == PYTHON) continue;
    while (p >= 0 && classOf[name[p]] == PYTHON) p = parent[p];
    if (p >= 0) self[p] -= dur[i];
  }
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

function readArrows(bytes, places) {
  const n = numbers(bytes);
  let work = 0, launch = 0, owner = 0;
  while (n.more()) {
    work += n.take();
    launch += n.signed();
    owner += n.signed();
    slices.launch[places[work]] = places[launch];
    slices.owner[places[work]] = places[owner];
  }
}

function readArgs(of, places) {
  const n = numbers(of);
  let slice = 0, at = 0;
  slices.args = new Map();
  while (n.more()) {
    slice += n.take();
    const size = n.take();
    slices.args.set(places[slice], [at, size]);
    at += size;
  }
}

// Of memory: [track, or none; ns; bytes of the host, of devices].
function readChanges(n) {
  slices.changes = [];
  for (let at = 0; n.more(); ) {
    const track = slices.tracks[n.take() - 1];
    slices.changes.push([track, at += n.signed(), n.signed(), n.signed()]);
  }
}
// The innermost call of a track at some moment, without Python functions; -1: none.
function callAt(track, ns) {
  for (let d = track && !track.async ? track.rows.length - 1 : -1; d >= 0; d--) {
    const {from, to} = track.rows[d];
    let i = above(n => slices.start[n], from, to, ns) - 1;
    if (i < from || endOf(i) < ns) continue;
    while (i >= 0 && (classOf[slices.name[i]] == PYTHON || classOf[slices.name[i]] == WAITING))
      i = slices.parent[i];
    return i;
  }
  return -1;
}

async function readSlices() {
  const columns = ["starts", "durations", "slice_names", "arrows", "args_of", "args", "changes"];
  const [starts, durations, called, arrows, argsOf, args, changes] =
    await Promise.all(columns.map(name => unpack(told[name])));
  await Promise.all(data.memory.map(readMemory));
  const n = told.count, read = {start: new Float64Array(n), dur: new Float64Array(n),
    name: new Uint32Array(n)};
  slices.tracks = readTracks();
  const s = numbers(starts), d = numbers(durations), c = numbers(called);
  for (const track of slices.tracks)
    for (let i = track.from, at = 0; i < track.to; i++) read.start[i] = at += s.take();
  for (let i = 0; i < n; i++) {
    read.dur[i] = d.take();
    read.name[i] = c.take();
  }
  const places = new Uint32Array(n);
  Object.assign(slices, {count: n, start: new Float64Array(n), dur: new Float64Array(n),
    name: new Uint32Array(n), parent: new Int32Array(n), track: new Uint32Array(n),
    self: new Float64Array(n), launch: new Int32Array(n).fill(-1),
    owner: new Int32Array(n).fill(-1), argsText: args});
  for (const track of slices.tracks) fileTrack(track, read, slices, places);
  takeSelf();
  slices.levels = levels();
  readArrows(arrows, places);
  readArgs(argsOf, places);
  readChanges(numbers(changes));
  for (const [track, at, text] of told.instants)
    if (slices.tracks[track]) slices.tracks[track].marks.push([at, plain(text)]);
  slices.steps = [];
  for (let i = 0; i < n; i++)
    if (classOf[read.name[i]] == ANNOTATION && names[read.name[i]].startsWith("ProfilerStep#"))
      slices.steps.push(places[i]);
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
