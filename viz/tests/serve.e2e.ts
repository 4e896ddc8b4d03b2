// `strata viz FILE` and `strata viz --serve`: the page with a trace in it, and the page that follows one while the program runs.
// STRATA_PROGRAM is `strata`.
import assert from 'node:assert/strict';
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { Browser } from 'playwright-core';
import { appears, folder, hashOf, launch, PAGE } from './browser';
import { DIGITS_TRACE, traceDigits } from './traces';

const PROGRAM = process.env['STRATA_PROGRAM'] ?? '../build/plain/strata';

describe('serve', () => {
  let browser: Browser;
  const kept = folder();
  const env = { ...process.env, STRATA_VIZ_PAGE: join(kept.path, 'page.gz'), STRATA_CACHE_DIR: join(kept.path, 'cache') };
  before(async () => {
    writeFileSync(env.STRATA_VIZ_PAGE, execFileSync('gzip', ['-9nc', PAGE], { maxBuffer: 1 << 26 }));
    browser = await launch();
  });
  after(async () => {
    await browser.close();
    kept.remove();
  });

  async function serve(file: string): Promise<{ url: string; program: ChildProcess }> {
    const program = spawn(PROGRAM, ['viz', '--no-open', '--serve', file], { env, stdio: ['ignore', 'pipe', 'inherit'] });
    const [line] = (await once(program.stdout, 'data')) as [Buffer];
    return { url: line.toString().trim(), program };
  }

  test('a trace is followed while the program writes it', async () => {
    const file = join(kept.path, DIGITS_TRACE);
    const { url, program } = await serve(file);
    try {
      const page = await (await browser.newContext()).newPage();
      const faults: string[] = [];
      page.on('pageerror', (e) => faults.push(e.message));
      page.on('request', (r) => (/^(data|blob):/.test(r.url()) || r.url().startsWith(url) ? undefined : faults.push(r.url())));
      await page.goto(url + hashOf({ mode: 'live' }));
      await appears(page, '[data-engine=ready]');
      const whole = join(kept.path, 'whole.jsonl');
      traceDigits(whole);
      const bytes = readFileSync(whole), half = bytes.indexOf('\n', bytes.length >> 1) + 1;
      writeFileSync(file, bytes.subarray(0, half));
      await page.getByText('the program runs').waitFor({ timeout: 10_000 });
      writeFileSync(file, bytes.subarray(half), { flag: 'a' });
      await page.getByText('the program ended').waitFor({ timeout: 10_000 });
      const first = /"event":"kernel","kernel":(\d+),/.exec(bytes.toString())?.[1] ?? assert.fail();
      await page.evaluate((hash) => (location.hash = hash), hashOf({ mode: 'live', kernel: first }));
      await page.locator('main').getByLabel('Text', { exact: true }).selectOption('assembly');
      await page.waitForFunction(() => /\bretq?\b/.test(document.querySelector('pre[aria-label^="assembly"]')?.textContent ?? ''), null, { timeout: 30_000 });
      assert.deepEqual(faults, []);
      await page.context().close();
    } finally {
      program.kill('SIGINT');
      await once(program, 'exit');
    }
    assert.equal(program.exitCode, 0);
  });

  test('a host that is not this machine is refused', async () => {
    const { url, program } = await serve(join(kept.path, 'none.jsonl'));
    try {
      // fetch() sets no Host: a request by hand.
      const { request } = await import('node:http');
      const status = (host: string): Promise<number | undefined> =>
        new Promise((done, failed) => request(url, { headers: { host } }, (reply) => (reply.resume(), done(reply.statusCode))).on('error', failed).end());
      assert.equal(await status('example.com'), 403);
      assert.equal(await status('localhost:1'), 200);
    } finally {
      program.kill('SIGINT');
      await once(program, 'exit');
    }
  });

  test('a trace that is in the page is shown', async () => {
    const file = join(kept.path, 'given.jsonl');
    traceDigits(file);
    const url = execFileSync(PROGRAM, ['viz', '--no-open', file], { env }).toString().trim();
    const page = await (await browser.newContext()).newPage();
    await page.goto(url);
    await page.getByText('the program ended').waitFor({ timeout: 20_000 });
    await page.context().close();
  });

  test('a link shows what the command looks at', async () => {
    const link = execFileSync(PROGRAM, ['view', '--shape', '3,2', '--permute', '1,0', '--reshape', '3,2', '--link'], { env }).toString().trim();
    assert.match(link, /^file:.*#mode=movement&q=/);
    const page = await (await browser.newContext()).newPage();
    await page.goto(execFileSync(PROGRAM, ['viz', '--no-open', 'view', '--shape', '3,2', '--permute', '1,0', '--reshape', '3,2'], { env }).toString().trim());
    await appears(page, '#view-1');
    await page.context().close();
  });
});
