// Commits-to-be: the built page, compressed, as viz/strata.html.gz. `npm run pack` after a build.
import { execFileSync } from 'node:child_process';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { sourcesHash, viz } from './sources-hash.mjs';

const built = join(viz, '..', 'build', 'viz', 'strata.html');
if (!readFileSync(built, 'utf8').includes(sourcesHash())) throw new Error('the built page is older than viz/: npm run build');
// NOTE: GNU gzip, as Node's gives other bytes on other versions.
const packed = execFileSync('gzip', ['-9nc', built], { maxBuffer: 1 << 26 });
const name = join(viz, 'strata.html.gz');
writeFileSync(name, packed);
process.stdout.write(`${name}: ${statSync(name).size} bytes\n`);
