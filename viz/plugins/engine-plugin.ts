// Gives the page its engine: build/wasm/strata.wasm as `virtual:engine` (gzip, base64), and the script of the worker that runs it
// as `virtual:engine-worker`.
import { execFileSync } from 'node:child_process';
import { build } from 'esbuild';
import type { Plugin } from 'vite';
import { enginePath } from './node-engine';

// Zopfli's gzip is a twentieth shorter than GNU's; Node's has other bytes from version to version.
function packedEngine(): string {
  return execFileSync('zopfli', ['-c', '--i5', enginePath()], { maxBuffer: 1 << 26 }).toString('base64');
}

async function workerScript(): Promise<string> {
  const made = await build({
    entryPoints: ['src/engine/worker.ts'],
    bundle: true,
    format: 'iife',
    minify: true,
    target: 'es2022',
    charset: 'utf8',
    write: false,
  });
  return made.outputFiles[0]?.text ?? '';
}

const sources: Record<string, () => string | Promise<string>> = {
  'virtual:engine': packedEngine,
  'virtual:engine-worker': workerScript,
};

export function enginePlugin(): Plugin {
  return {
    name: 'engine',
    resolveId: (id) => (id in sources ? '\0' + id : null),
    async load(id) {
      const text = id.startsWith('\0') ? sources[id.slice(1)] : undefined;
      return text === undefined ? null : `export default ${JSON.stringify(await text())}`;
    },
  };
}
