// The film of accesses: its order, its controls, the cache beside it.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { appears, close, comesTo, hashOf, launch, open, settled, type Open } from './browser';

const TEXT = 'a: f32[8,8]; b: f32[8,8]; c = a @ b';

async function shown(browser: Browser, more: Record<string, string> = {}, q = TEXT): Promise<Open> {
  const opened = await open(browser, hashOf({ mode: 'film', q, ...more }));
  await appears(opened.page, '.nest');
  await settled(opened.page);
  return opened;
}

const state = (page: Page, name: string): Promise<string | null> => page.evaluate((n) => new URLSearchParams(location.hash.slice(1)).get(n), name);
const now = (page: Page): Promise<string> => page.locator('.now').innerText();
const counts = async (page: Page, name: string): Promise<string[]> => page.locator('.counts tr', { has: page.locator('th', { hasText: new RegExp(`^${name}$`) }) }).locator('td').allInnerTexts();

/** Lines of a cache as lists, the newest last. */
function simulated(stream: number[], sets: number, ways: number): number {
  const cache: number[][] = Array.from({ length: sets }, () => []);
  let misses = 0;
  for (const line of stream) {
    const set = cache[line % sets] ?? [];
    const place = set.indexOf(line);
    if (place >= 0) set.splice(place, 1);
    else misses += 1;
    set.push(line);
    if (set.length > ways) set.shift();
  }
  return misses;
}

describe('film', () => {
  let browser: Browser;
  before(async () => {
    browser = await launch();
  });
  after(() => browser.close());

  test('a product in plain loops: row by column, and the misses of a small cache', async () => {
    const opened = await shown(browser, { opts: 'none', line: '16', sets: '2', ways: '2' });
    const { page } = opened;
    // c, a and b have 16 lines of 16 bytes each, one after another.
    const stream: number[] = [];
    for (let i = 0; i < 8; ++i)
      for (let j = 0; j < 8; ++j) {
        for (let k = 0; k < 8; ++k) stream.push(16 + Math.floor((i * 8 + k) / 4), 32 + Math.floor((k * 8 + j) / 4));
        stream.push(Math.floor((i * 8 + j) / 4));
      }
    const misses = simulated(stream, 2, 2);
    const all = await counts(page, 'all');
    assert.equal(Number(all[0]), stream.length);
    assert.equal(Number(all[0]) - Number(all[1]), misses);
    assert.equal(all.at(-1), `${((100 * misses) / stream.length).toFixed(1)}%`);
    assert.deepEqual(opened.faults, []);
    await close(opened);
  });

  test('steps, ends and the place in the link', async () => {
    const opened = await shown(browser, { opts: 'none', at: '0' });
    const { page } = opened;
    await comesTo(() => now(page), /No access was made/);
    await page.getByRole('button', { name: 'One access on' }).click();
    await comesTo(() => now(page), /load a\[0, 0\] · address 0 .* cold miss/);
    await page.getByLabel('Accesses made').focus();
    for (let i = 0; i < 3; ++i) await page.keyboard.press('ArrowRight');
    await comesTo(() => now(page), /load b\[1, 0\] · address 8/);
    await comesTo(() => page.locator('.nest').innerText(), /ridx2=1 of 8/);
    await page.waitForFunction(() => new URLSearchParams(location.hash.slice(1)).get('at') === '4');
    await page.keyboard.press('End');
    await comesTo(() => now(page), /store c\[7, 7\]/);
    await page.keyboard.press('Home');
    await comesTo(() => now(page), /No access/);
    await close(opened);
  });

  test('it plays, and pauses where it is', async () => {
    const opened = await shown(browser, { opts: 'none', at: '0', speed: '256' });
    const { page } = opened;
    await page.getByRole('button', { name: 'Play' }).click();
    await page.waitForFunction(() => Number((document.querySelector('.position')?.textContent ?? '0').split(' ')[0]) > 40);
    await page.getByRole('button', { name: 'Pause' }).click();
    const at = Number(await state(page, 'at'));
    assert.ok(at > 40 && at < 1088, `${at}`);
    await page.waitForTimeout(300);
    assert.equal(await page.locator('.position').innerText(), `${at} of 1088`);
    await close(opened);
  });

  test('an Opt changes the order; vectors and threads stand in the strip', async () => {
    const opened = await shown(browser, { opts: 'none', at: '3' });
    const { page } = opened;
    await page.getByRole('button', { name: 'Add LANES 1 8' }).click();
    await page.waitForFunction(() => /lanes/.test(document.querySelector('.nest')?.textContent ?? ''));
    await settled(page);
    await comesTo(() => now(page), /load b\[0, 1\]/);
    await page.getByRole('button', { name: 'Add PARALLEL 0' }).click();
    await page.waitForFunction(() => /parallel/.test(document.querySelector('.nest')?.textContent ?? ''));
    await close(opened);
  });

  test('a hovered element tells its history', async () => {
    const opened = await shown(browser, { opts: 'none', at: '1' });
    const { page } = opened;
    await page.locator('#film-a').focus();
    await page.keyboard.press('ArrowRight');
    await page.getByText('a[0, 0]: touched just now, line 4 is in the cache').waitFor();
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('ArrowDown');
    await page.getByText('a[2, 0]: not touched yet, line 5 is not in the cache').waitFor();
    await close(opened);
  });

  test('wrong numbers in the boxes of the cache are said and change nothing', async () => {
    const opened = await shown(browser, { opts: 'none' });
    const { page } = opened;
    const before = await counts(page, 'all');
    for (const [label, text, said] of [['sets', '0', 'less than 1'], ['ways', 'x', 'no whole number'], ['bytes of a line', '99999', 'more than 4096']] as const) {
      await page.getByLabel(label).fill(text);
      await page.getByText(said).waitFor();
      assert.deepEqual(await counts(page, 'all'), before);
    }
    await page.getByLabel('ways').fill('1');
    await page.waitForFunction(() => new URLSearchParams(location.hash.slice(1)).get('ways') === '1');
    await close(opened);
  });

  test('too many accesses are refused, in words', async () => {
    const opened = await open(browser, hashOf({ mode: 'film', opts: 'none', q: 'a: f32[512,512]; b: f32[512,512]; c = a @ b' }));
    await opened.page.waitForFunction(() => /accesses/.test(document.querySelector('.film .refusal')?.textContent ?? ''));
    await close(opened);
  });

  test('symbolic sizes get values', async () => {
    const opened = await shown(browser, { opts: 'none' }, 'n: 1..100; a: f32[n]; b = a * 2');
    const { page } = opened;
    assert.equal((await counts(page, 'all'))[0], '32');
    await page.getByLabel('n', { exact: true }).fill('50');
    await page.waitForFunction(() => /100 accesses/.test(document.querySelector('.film .note')?.textContent ?? ''));
    assert.equal(await state(page, 'values'), 'n=50');
    await close(opened);
  });

  test('a link says all of it; pictures are offered', async () => {
    const opened = await shown(browser, { opts: 'LANES 1 8', at: '77', sets: '2', ways: '1', line: '32' });
    const { page } = opened;
    const seen = async (p: Page): Promise<unknown> => [await now(p), await counts(p, 'a'), await counts(p, 'all'), await p.locator('.nest').innerText()];
    const again = await open(browser, await page.evaluate(() => location.hash));
    await appears(again.page, '.nest');
    await settled(again.page);
    assert.deepEqual(await seen(again.page), await seen(page));
    const names = await page.getByLabel('Save').locator('option').allTextContents();
    for (const name of ['film-a.svg', 'film-a.png', 'misses.svg', 'misses.json']) assert.ok(names.includes(name), names.join());
    await close(opened);
    await close(again);
  });
});
