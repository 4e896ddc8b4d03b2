// The hash of what the page is made of in viz/: names and contents of its files, in order. A page carries it, so that an old one is told
// from a new one.
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const viz = fileURLToPath(new URL('..', import.meta.url));
/** The version of the answers that the page reads. A change of their meaning counts it up. */
export const JSON_VERSION = 1;

// What is made, and what says nothing of the page.
const LEFT_OUT = new Set(['node_modules', 'strata.html.gz', 'tests', 'README.md']);

function files(folder, prefix = '') {
  return readdirSync(folder, { withFileTypes: true })
    .filter((e) => prefix !== '' || !LEFT_OUT.has(e.name))
    .sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0))
    .flatMap((e) => (e.isDirectory() ? files(join(folder, e.name), `${prefix}${e.name}/`) : [prefix + e.name]));
}

export function sourcesHash() {
  const hash = createHash('sha256');
  for (const name of files(viz)) hash.update(`${name}\0`).update(readFileSync(join(viz, name))).update('\0');
  return hash.digest('hex').slice(0, 32);
}
