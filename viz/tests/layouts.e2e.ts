// Layouts: the algebra from a menu, links between pictures, threads, swizzles, banks, sectors, lines, exports.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, describe, test } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { appears, close, comesTo, hashOf, launch, open, settled } from './browser';

const at = (q: string, more: Record<string, string> = {}): string => hashOf({ mode: 'layouts', q, ...more });
const text = (page: Page, selector: string): Promise<string> => page.locator(selector).innerText();
/** The panel with this title. */
const panel = (page: Page, title: string) => page.locator('section.panel', { has: page.getByRole('heading', { name: title, exact: true }) });

describe('layouts', () => {
  let browser: Browser;
  before(async () => {
    browser = await launch();
  });
  after(() => browser.close());

  test('a function is chosen, its arguments edited; the box and the answer follow', async () => {
    const opened = await open(browser, at('(8,8):(8,1)'));
    const { page, faults } = opened;
    await settled(page);
    await page.getByLabel('Function', { exact: true }).selectOption('zipped_divide');
    assert.equal(await page.inputValue('#box'), 'zipped_divide((8,8):(8,1), (2,2):(1,4))');
    await page.getByRole('textbox', { name: 'B', exact: true }).fill('<4:1, 2:1>');
    await page.waitForFunction(() => document.querySelector('.answer code')?.textContent === '((4,2),(2,4)):((8,1),(32,2))');
    assert.equal(await page.inputValue('#box'), 'zipped_divide((8,8):(8,1), <4:1, 2:1>)');
    assert.equal(await page.locator('#operand-a').count(), 1);
    await page.getByLabel('Function', { exact: true }).selectOption('size');
    await page.waitForFunction(() => document.querySelector('.answer code')?.textContent === '64');
    assert.deepEqual(faults, []);
    await close(opened);
  });

  test('a refusal has its reason, and what was there stays', async () => {
    const opened = await open(browser, at('composition((4,6):(1,7), 2:2)'));
    const { page, faults } = opened;
    await settled(page);
    await appears(page, '#result');
    const b = page.getByRole('textbox', { name: 'B', exact: true });
    await b.fill('3:3');
    await appears(page, '.refusal');
    await comesTo(() => text(page, '.refusal'), /is not a layout: the digits carry at 2, which does not divide 3/);
    assert.equal(await page.locator('#result').count(), 1);
    await b.fill('(4,'); // half a layout: what is typed stays
    await page.waitForFunction(() => /expected|missing|column|closed/.test(document.querySelector('.refusal')?.textContent ?? ''));
    assert.equal(await b.inputValue(), '(4,');
    await b.fill('3:1');
    await page.waitForFunction(() => document.querySelector('.refusal') === null);
    assert.equal(await page.inputValue('#box'), 'composition((4,6):(1,7), 3:1)');
    assert.deepEqual(faults, []);
    await close(opened);
    const linked = await open(browser, at('composition((4,6):(1,7), 3:3)'));
    await appears(linked.page, '.refusal');
    await appears(linked.page, '#operand-b'); // what can be drawn is
    await close(linked);
  });

  test('pointing at a result marks where it comes from, with its coordinate', async () => {
    const opened = await open(browser, at('composition((6,2):(8,2), (4,3):(3,1))'));
    const { page } = opened;
    await settled(page);
    await page.locator('#result').focus();
    for (const key of ['ArrowDown', 'ArrowDown', 'ArrowRight']) await page.keyboard.press(key); // (0,0), (1,0), (1,1)
    // R((1,0),1): B's coordinate (1,1) is 4, which is (4,0) in A, where 32 is.
    await comesTo(() => text(page, '.whereabouts'), /^\(\(1,0\),1\) · index 5 · value 32 · thread 1, its value 1 · .*A at \(4,0\) · B at \(1,1\)/);
    await page.locator('#operand-b').focus();
    await page.keyboard.press('ArrowDown');
    await comesTo(() => text(page, '.whereabouts'), /B at \(0,0\) = 0/);
    await close(opened);
  });

  test('all banks, sectors and lines of what is known by heart; the machine is in the link', async () => {
    const opened = await open(browser, at('(32,32):(32,1)'));
    const { page } = opened;
    await settled(page);
    const warps = panel(page, 'Warps: banks and sectors');
    await comesTo(() => warps.innerText(), /32-way/);
    await comesTo(() => text(page, 'section:has(#banks) header .note'), /32-way, 32 passes/);
    await page.locator('#banks').focus();
    await page.keyboard.press('ArrowDown'); // the first word of bank 0: all threads want one of its words
    await comesTo(() => text(page, '.whereabouts'), /^threads 0–31 · value 0 of each · bank 0/);
    await warps.getByLabel('Banks').fill('16');
    await warps.getByLabel('Bytes of an element').fill('2');
    await settled(page);
    assert.match(page.url(), /banks=16/);
    assert.match(page.url(), /bytes=2/);
    await warps.getByLabel('Warp').fill('0');
    await comesTo(() => warps.innerText(), /0 is less than 1/);
    await warps.getByLabel('Warp').fill('x');
    await comesTo(() => warps.innerText(), /'x' is no whole number/);
    await close(opened);
    const padded = await open(browser, at('(32,32):(33,1)'));
    await settled(padded.page);
    assert.doesNotMatch(await panel(padded.page, 'Warps: banks and sectors').innerText(), /-way/);
    await close(padded);
  });

  test('vectors that are impossible are told with the place', async () => {
    const opened = await open(browser, at('(32,8):(9,1)', { vector: '4' }));
    await settled(opened.page);
    await comesTo(() => panel(opened.page, 'Warps: banks and sectors').innerText(), /4 elements at once are no vector: value 0 of thread 1 is not aligned/);
    await close(opened);
  });

  test('threads that share lines', async () => {
    const opened = await open(browser, at('(4,16):(1,4)'));
    await settled(opened.page);
    await comesTo(() => panel(opened.page, 'Processor: cache lines').innerText(), /False sharing: 4 lines/);
    await close(opened);
  });

  test('a swizzle: before and after side by side; the best one is found', async () => {
    const opened = await open(browser, at('(32,32):(32,1)'));
    const { page } = opened;
    await settled(page);
    await page.getByRole('button', { name: 'find the best' }).click();
    await appears(page, '#after');
    assert.match(page.url(), /swz=5%2C0%2C5/);
    const captions = await page.locator('figcaption').allInnerTexts();
    assert.match(captions[0] ?? '', /^Before: 32-way bank conflicts, 1024 passes where 32 would do/);
    assert.equal(captions[1], 'After: no bank conflicts');
    await page.getByLabel('shift', { exact: true }).fill('3');
    await page.waitForFunction(() => /overlap/.test(document.querySelector('main .refusal')?.textContent ?? ''));
    await page.getByRole('button', { name: 'none', exact: true }).click();
    await appears(page, '#result');
    await close(opened);
    const wrong = await open(browser, at('(4,4):(4,1)', { swz: 'a,b' }));
    await settled(wrong.page);
    await comesTo(() => text(wrong.page, 'main .refusal'), /'a,b' is no swizzle/);
    await close(wrong);
  });

  test('a click shows a thread alone; the link says so', async () => {
    const opened = await open(browser, at('((4,8),(2,2)):((32,1),(16,8))', { colour: 'thread', rows: '16' }));
    const { page } = opened;
    await settled(page);
    const memory = page.locator('#memory');
    await memory.scrollIntoViewIfNeeded();
    const box = await memory.boundingBox();
    assert.ok(box !== null);
    await page.mouse.click(box.x + box.width / 2, box.y + box.height / 2);
    await page.waitForFunction(() => /only=\d+/.test(location.hash));
    const only = /only=(\d+)/.exec(page.url())?.[1];
    await comesTo(() => text(page, 'main'), new RegExp(`Thread ${only} alone`));
    await page.getByRole('button', { name: 'all threads' }).click();
    assert.doesNotMatch(page.url(), /only=/);
    await close(opened);
  });

  test('more than two modes are panels, none is flattened', async () => {
    const opened = await open(browser, at('(4,6,3):(6,1,24)'));
    const { page } = opened;
    await settled(page);
    await comesTo(() => text(page, 'section:has(#result) header .note'), /a panel for each coordinate/);
    await page.locator('#result').focus();
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('PageDown');
    await comesTo(() => text(page, '.whereabouts'), /^\(0,0,1\) · index 24 · value 24/);
    await close(opened);
  });

  test('the picture is saved as SVG, LaTeX and JSON', async () => {
    const opened = await open(browser, at('(2,3):(3,1)'));
    const { page } = opened;
    await settled(page);
    const save = async (name: string): Promise<string> => {
      const download = page.waitForEvent('download');
      await page.getByLabel('Save').selectOption(name);
      return readFileSync(await (await download).path(), 'utf8');
    };
    assert.match(await save('result.svg'), /^<svg[^]*>5<\/text>/);
    const tex = await save('result.tex');
    assert.equal(tex.match(/\\node\[cell/g)?.length, 6);
    assert.deepEqual(JSON.parse(await save('result.json')).table, [0, 3, 1, 4, 2, 5]);
    const download = page.waitForEvent('download');
    await page.getByLabel('Save').selectOption('result.png');
    assert.deepEqual([...readFileSync(await (await download).path()).subarray(1, 4)], [0x50, 0x4e, 0x47]);
    await close(opened);
  });

  test('a link says all of it', async () => {
    const state = { colour: 'bank', cell: 'coordinate', threads: '1', only: '2', rows: '8', order: 'rows', swz: '2,0,3', bytes: '8', banks: '16', request: '3', warp: '16' };
    const opened = await open(browser, at('blocked_product((2,2):(2,1), (4,2):(1,4))', state));
    const { page } = opened;
    await settled(page);
    const seen = await page.locator('main').innerText();
    const hash = new URL(page.url()).hash;
    const again = await open(browser, hash);
    await settled(again.page);
    assert.equal(await again.page.locator('main').innerText(), seen);
    assert.equal(await page.getByLabel('Colour', { exact: true }).inputValue(), 'bank');
    assert.equal(await page.getByLabel('Threads are').inputValue(), '1');
    await close(again);
    await close(opened);
  });

  test('large layouts are drawn; another kind of text is told what is wanted', async () => {
    const opened = await open(browser, at('(1024,1024):(1024,1)'));
    const { page, faults } = opened;
    await settled(page);
    await appears(page, '#result');
    await comesTo(() => text(page, '.answer'), /size 1048576/);
    await page.fill('#box', '(a + b*10) % 10');
    await appears(page, '.elsewhere');
    await page.locator('.elsewhere button').first().click();
    await appears(page, '#result');
    await page.fill('#box', 'n: 1..9; (n,4):(4,1)');
    await page.waitForFunction(() => /Its sizes have names/.test(document.querySelector('.answer')?.textContent ?? ''));
    assert.deepEqual(faults, []);
    await close(opened);
  });
});
