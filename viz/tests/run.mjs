// Runs tests: node tests/run.mjs unit|e2e [NAME...]. Tests are TypeScript, bundled by esbuild, run by Node's own runner; the results are
// counted into ../build/viz-tests/viz-KIND.xml.
import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { run } from 'node:test';
import { fileURLToPath } from 'node:url';
import { join } from 'node:path';
import { build } from 'esbuild';
import { virtual } from '../plugins/virtual.mjs';

const here = fileURLToPath(new URL('.', import.meta.url));
process.chdir(join(here, '..'));
const [kind = 'unit', ...names] = process.argv.slice(2);
const files = readdirSync(here).filter((f) => f.endsWith(`.${kind}.ts`) && (names.length === 0 || names.some((n) => f.startsWith(n))));
if (files.length === 0) throw new Error(`there are no tests *.${kind}.ts${names.length > 0 ? ' named ' + names.join(', ') : ''}`);

const report = join(here, '..', '..', 'build', 'viz-tests');
mkdirSync(report, { recursive: true });
// Where Node finds what the tests import.
const out = join(here, '..', 'node_modules', '.strata-tests', kind);
rmSync(out, { recursive: true, force: true });
await build({
  entryPoints: files.map((f) => join(here, f)),
  outdir: out,
  outExtension: { '.js': '.mjs' },
  bundle: true,
  platform: 'node',
  format: 'esm',
  target: 'node18',
  jsx: 'automatic',
  jsxImportSource: 'preact',
  packages: 'external',
  sourcemap: 'inline',
  plugins: [virtual],
});

const escape = (text) => text.replace(/[&<>"]/g, (c) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' })[c]).replace(/[^\t\n\r\x20-\uD7FF\uE000-\uFFFD]/g, '?');
const cases = [];
const failures = [];  // said again at the end, where one looks
let failed = 0;
const stream = run({ files: files.map((f) => join(out, f.replace(/\.ts$/, '.mjs'))), concurrency: kind === 'e2e' ? 1 : true, timeout: 900_000 });
const tell = (ok) => (data) => {
  if (data.details?.type === 'suite' || data.nesting > 1 || /\.mjs$/.test(data.name)) {
    if (!ok && /\.mjs$/.test(data.name)) failed += 1;
    return;
  }
  const skipped = data.skip !== undefined;
  const words = ok ? '' : String(data.details?.error?.cause?.stack ?? data.details?.error?.cause ?? data.details?.error ?? '');
  process.stdout.write(`${ok ? (skipped ? 'skipped' : 'ok     ') : 'FAILED '} ${data.name}  ${Math.round(data.details?.duration_ms ?? 0)} ms\n${words === '' ? '' : words + '\n'}`);
  if (!ok) {
    failed += 1;
    failures.push(`FAILED ${data.name}: ${words.split('\n').slice(0, 6).join('\n')}`);
  }
  cases.push(`<testcase classname="viz.${kind}" name="${escape(data.name)}">${ok ? (skipped ? '<skipped/>' : '') : `<failure>${escape(words)}</failure>`}</testcase>`);
};
stream.on('test:pass', tell(true));
stream.on('test:fail', tell(false));
stream.on('test:stdout', (d) => process.stdout.write(d.message));
stream.on('test:stderr', (d) => process.stderr.write(d.message));
stream.on('end', () => {
  writeFileSync(join(report, `viz-${process.env.STRATA_REPORT ?? kind}.xml`), `<testsuite name="viz.${kind}" tests="${cases.length}" failures="${failed}">${cases.join('\n')}</testsuite>\n`);
  for (const line of failures) process.stdout.write(`${line}\n`);
  process.stdout.write(`${cases.length} tests, ${failed} failed\n`);
  process.exitCode = failed === 0 && cases.length > 0 ? 0 : 1;
});
stream.resume();
