// Speedscope's importer on profiles: node tests/write/speedscope.mjs PACKAGE FILE...
//   PACKAGE  the npm package's folder
// Prints one line for each file: how many profiles it holds, calls in them all, deepest stack, and
// the sum of their weights (half ns of a trace, samples of folded stacks). Exit status 1 and one line on
// stderr for a file that speedscope does not load.
import {readdirSync, readFileSync} from 'node:fs';
import path from 'node:path';
import vm from 'node:vm';

const [folder, ...files] = process.argv.slice(2);

// The bundle is a web page's: it is run up to where it draws, and its importer handed out.
function importer() {
  const release = path.join(folder, 'dist', 'release');
  const bundle = readdirSync(release).find((name) => /^speedscope-.*\.js$/.test(name));
  const source = readFileSync(path.join(release, bundle), 'utf8');
  const name = /async function ([\w$]+)\(\w,\w\)\{return\(await [\w$]+\)\.importProfilesFromArrayB/;
  const found = name.exec(source);
  const end = source.lastIndexOf('console.log(`speedscope v');
  if (!found || end < 0) throw new Error('another version of the package');
  const nothing = new Proxy(function () {}, {
    get: (_, key) => (key === Symbol.toPrimitive ? () => '' : nothing),
    apply: () => nothing, construct: () => nothing, set: () => true,
  });
  Object.assign(globalThis, {window: globalThis, self: globalThis, document: nothing,
    location: {hash: '', protocol: 'file:'}, addEventListener() {}, matchMedia: nothing});
  vm.runInThisContext(`${source.slice(0, end)}globalThis.importProfile = ${found[1]};})();`);
  return globalThis.importProfile;
}

function measure(group) {
  let calls = 0, deepest = 0, weight = 0;
  for (const profile of group.profiles) {
    let depth = 0;
    profile.forEachCall(() => { calls++; deepest = Math.max(deepest, ++depth); }, () => { depth--; });
    weight += profile.getTotalNonIdleWeight();
  }
  return [group.profiles.length, calls, deepest, weight.toFixed(3)].join(' ');
}

// Times in half nanoseconds, where calls end one before they did, and take one at least. Speedscope
// adds ts and dur as doubles, of which in microseconds the sum may lie behind the begin of the next
// call at the same nanosecond; takes two calls of one name that touch for one; and shows none that
// took no time. With a coarse clock that is one call of a hundred.
function apart(bytes) {
  const text = bytes.toString('latin1');
  const time = /(?<="(ts|dur)":)(\d+)\.(\d{3})(?=[,}])/g;
  return Buffer.from(text.replace(time, (_, key, us, ns) =>
    `${key === 'ts' ? 2 * Number(us + ns) : Math.max(1, 2 * Number(us + ns) - 1)}`), 'latin1');
}

async function main() {
  const load = importer();
  const say = console.log;
  for (const file of files) {
    const bytes = apart(readFileSync(file));
    console.log = console.warn = () => {};
    const group = await load(path.basename(file),
        bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length));
    console.log = say;
    if (!group) throw new Error(`${file}: it does not know the format`);
    say(measure(group));
  }
}

main().then(() => process.exit(0), (error) => {
  process.stderr.write(`speedscope: ${error.message ?? error}\n`);
  process.exit(1);
});
