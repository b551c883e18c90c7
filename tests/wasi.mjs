// Runs a WebAssembly program (WASI) in node: node tests/wasi.mjs PROGRAM ARGUMENT...
import { readFileSync } from 'node:fs';
import { WASI } from 'node:wasi';

const wasi = new WASI({
    version: 'preview1',
    args: process.argv.slice(2),
    env: process.env,
    preopens: { '.': process.cwd(), '/': '/' },
    returnOnExit: true,
});
const module = await WebAssembly.compile(readFileSync(process.argv[2]));
const instance = await WebAssembly.instantiate(module, wasi.getImportObject());
process.exit(wasi.start(instance));
