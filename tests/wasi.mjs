#!/usr/bin/env node
// Runs a WebAssembly program (WASI): tests/wasi.mjs PROGRAM ARGUMENT... Its root is this folder.
import { readFileSync } from 'node:fs';

process.removeAllListeners('warning');   // that WASI is an experiment
const { WASI } = await import('node:wasi');
const wasi = new WASI({
    version: 'preview1',
    args: process.argv.slice(2),
    env: process.env,
    preopens: { '/': process.cwd() },
    returnOnExit: true,
});
const program = await WebAssembly.compile(readFileSync(process.argv[2]));
const instance = await WebAssembly.instantiate(program, wasi.getImportObject());
process.exit(wasi.start(instance));
