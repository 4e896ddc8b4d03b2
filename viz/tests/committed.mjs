// Whether the committed page is the page of these sources: its hash is that of viz/, and its engine answers 200 requests as the program
// does. Prints a line; exit status 1 where the page is old. STRATA_PROGRAM is the program.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gunzipSync } from 'node:zlib';
import { JSON_VERSION, sourcesHash } from '../plugins/sources-hash.mjs';

const viz = fileURLToPath(new URL('..', import.meta.url));

function problem() {
  const packed = join(viz, 'strata.html.gz');
  if (!existsSync(packed)) return 'there is none';
  const page = gunzipSync(readFileSync(packed)).toString('utf8');
  const said = /<meta name="strata-viz" content="sources=(\w+) json=(\d+)"/.exec(page);
  if (said === null) return 'it does not say of which sources it is';
  if (said[1] !== sourcesHash()) return `it is of the sources ${said[1]}, these are ${sourcesHash()}`;
  if (said[2] !== String(JSON_VERSION)) return `its JSON is of version ${said[2]}, not ${JSON_VERSION}`;
  return answersProblem(page);
}

function answersProblem(page) {
  // The one long text of base64 that begins as gzip does.
  const engine = /["'`](H4sI[A-Za-z0-9+/=]{100000,})["'`]/.exec(page);
  if (engine === null) return 'it has no engine';
  const folder = join(viz, '..', 'build', 'viz-tests');
  mkdirSync(folder, { recursive: true });
  const wasm = join(folder, 'committed.wasm');
  writeFileSync(wasm, gunzipSync(Buffer.from(engine[1], 'base64')));
  const run = spawnSync(process.execPath, [join(viz, 'tests', 'run.mjs'), 'differential'], {
    env: { ...process.env, STRATA_WASM: wasm, STRATA_COUNT: '200', STRATA_REPORT: 'committed' },
    encoding: 'utf8',
  });
  return run.status === 0 ? null : `its engine answers otherwise than the program:\n${run.stdout}${run.stderr}`;
}

const found = problem();
process.stdout.write(found === null ? 'The committed page is up to date.\n' : `The committed page is old: ${found}\n`);
process.exitCode = found === null ? 0 : 1;
