// run.mjs FILE: calls program() of a WebAssembly module, and prints what it writes.
import { readFileSync, writeSync } from 'node:fs';

const env = {
  write_bytes: (at, count) => writeSync(1, new Uint8Array(instance.exports.memory.buffer, at, count)),
};
const { instance } = await WebAssembly.instantiate(readFileSync(process.argv[2]), { env });
process.exitCode = instance.exports.program();
