#!/usr/bin/env -S node --single-threaded-gc
// Runs a WebAssembly program (WASI): tests/wasi.mjs PROGRAM ARGUMENT... Its root is this folder.
// Its memory grows often. Node 20's collector, which marks on other threads, ends such a program
// now and then by "unreachable code".
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
