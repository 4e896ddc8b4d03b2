// Shape and stride: the specification's pictures, the boxes, masks of any rank, pictures of any size.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, describe, test } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { appears, close, comesTo, hashOf, launch, open, settled, type Open } from './browser';

/** The addresses of a picture, element by element as the keyboard's cursor finds them; null: masked. */
async function cells(page: Page, rows: number, cols: number, id = 'elements'): Promise<(number | null)[][]> {
  const canvas = page.locator('#' + id);
  await canvas.focus();
  await page.keyboard.press('Home');
  const out: (number | null)[][] = [];
  for (let r = 0; r < rows; ++r) {
    out.push([]);
    for (let c = 0; c < cols; ++c) {
      await comesTo(() => canvas.getAttribute('aria-label'), /Element .*: (masked|address -?\d)/);
      const label = (await canvas.getAttribute('aria-label')) ?? '';
      const said = /Element (.*): (masked|address (-?\d+))/.exec(label);
      assert.equal(said?.[1]?.split(', ').slice(-2).join(), cols === 1 && rows === 1 ? said?.[1] : `${r},${c}`, label);
      out[r]?.push(said?.[3] === undefined ? null : Number(said[3]));
      if (c + 1 < cols) await page.keyboard.press('ArrowRight');
    }
    for (let c = 1; c < cols; ++c) await page.keyboard.press('ArrowLeft');
    await page.keyboard.press('ArrowDown');
  }
  return out;
}

async function shown(browser: Browser, q: string, more: Record<string, string> = {}): Promise<Open> {
  const opened = await open(browser, hashOf({ mode: 'shape', q, ...more }));
  await appears(opened.page, '#elements');
  await settled(opened.page);
  return opened;
}

const box = (page: Page): Promise<string> => page.inputValue('#box');
const memory = async (page: Page): Promise<string> => (await page.locator('#memory').getAttribute('aria-label')) ?? '';

/** Waits until memory is as said: the engine has answered by then. */
async function remembered(page: Page, label: RegExp): Promise<void> {
  await comesTo(() => memory(page), label);
  await settled(page);
}

describe('shape', () => {
  let browser: Browser;
  before(async () => {
    browser = await launch();
  });
  after(() => browser.close());

  // The specification's pictures.
  const pictures: [string, string, (number | null)[][], RegExp][] = [
    ['2 by 2', 'View(shape=(2, 2), strides=(2, 1))', [[0, 1], [2, 3]], /addresses 0 to 3, 4 touched/],
    ['its transpose by flipped strides', 'View(shape=(2, 2), strides=(1, 2))', [[0, 2], [1, 3]], /addresses 0 to 3, 4 touched/],
    ['a row, four times', 'View(shape=(4, 4), strides=(0, 1))', Array.from({ length: 4 }, () => [0, 1, 2, 3]), /addresses 0 to 3, 4 touched/],
    ['rows with gaps', 'View(shape=(2, 2), strides=(4, 1))', [[0, 1], [4, 5]], /addresses 0 to 5, 4 touched/],
    ['the first row alone', 'View(shape=(2, 2), strides=(2, 1), mask=((0, 1), (0, 2)))', [[0, 1], [null, null]], /addresses 0 to 1, 2 touched/],
  ];
  for (const [name, q, right, strip] of pictures)
    test(name, async () => {
      const opened = await shown(browser, q);
      await remembered(opened.page, strip);
      assert.deepEqual(await cells(opened.page, right.length, right[0]?.length ?? 0), right);
      assert.deepEqual(opened.faults, []);
      await close(opened);
    });

  test('boxes rewrite the text: transpose, repeat, gaps', async () => {
    const opened = await shown(browser, '(2,2)');
    const { page } = opened;
    await page.getByLabel('Stride of dimension 0').fill('1');
    await page.getByLabel('Stride of dimension 1').fill('2');
    assert.equal(await box(page), 'View(shape=(2, 2), strides=(1, 2))');
    await page.getByLabel('Size of dimension 0').fill('4');
    await page.getByLabel('Stride of dimension 0').fill('0');
    await remembered(page, /addresses 0 to 2, 2 touched/);
    assert.deepEqual(await cells(page, 4, 2), [[0, 2], [0, 2], [0, 2], [0, 2]]);
    await page.getByLabel('Stride of dimension 1').fill('-2');
    await page.getByLabel('Offset').fill('3');
    assert.equal(await box(page), 'View(shape=(4, 2), strides=(0, -2), offset=3)');
    await remembered(page, /addresses 0 to 3, 2 touched/);
    assert.deepEqual(await cells(page, 4, 2), [[3, 1], [3, 1], [3, 1], [3, 1]]);
    await close(opened);
  });

  test('mask "0,0" on dimension 0, both ends inside, is the first row', async () => {
    const opened = await shown(browser, 'View(shape=(2, 2), strides=(2, 1))');
    const { page } = opened;
    await page.getByLabel('Mask ends').selectOption('inclusive');
    await page.getByLabel('Mask begin of dimension 0').fill('0');
    await page.getByLabel('Mask end of dimension 0').fill('0');
    assert.equal(await box(page), 'View(shape=(2, 2), strides=(2, 1), mask=((0, 1), (0, 2)))');
    await remembered(page, /addresses 0 to 1, 2 touched/);
    assert.deepEqual(await cells(page, 2, 2), [[0, 1], [null, null]]);
    await page.getByLabel('Mask ends').selectOption('open');
    assert.equal(await page.getByLabel('Mask end of dimension 0').inputValue(), '1');
    await close(opened);
  });

  test('masks of rank 3 leave out what they say', async () => {
    const opened = await shown(browser, 'View(shape=(2, 2, 2), strides=(4, 2, 1), mask=((0, 2), (0, 1), (0, 2)))');
    const { page } = opened;
    await remembered(page, /4 touched/);
    assert.deepEqual(await cells(page, 2, 2), [[0, 1], [null, null]]);
    await page.keyboard.press('PageDown');
    for (let i = 0; i < 2; ++i) await page.keyboard.press('ArrowUp');
    await comesTo(() => page.locator('#elements').getAttribute('aria-label'), /Element 1, 0, 0: address 4/);
    await close(opened);
  });

  test('a text gives the boxes; dimensions are added, moved, removed; undo goes back', async () => {
    const opened = await shown(browser, '(3,4).permute((1,0))');
    const { page } = opened;
    const values = async (): Promise<string[]> => Promise.all((await page.locator('.dims input').all()).map((i) => i.inputValue()));
    await appears(page, '.dims input');
    assert.deepEqual(await values(), ['4', '1', '0', '4', '3', '4', '0', '3']);
    await page.getByRole('button', { name: 'Move dimension 0 inwards' }).click();
    assert.equal(await box(page), 'View(shape=(3, 4), strides=(4, 1))');
    await page.getByRole('button', { name: 'Add outside' }).click();
    assert.equal(await box(page), 'View(shape=(2, 3, 4), strides=(12, 4, 1))');
    await page.getByRole('button', { name: 'Remove dimension 2' }).click();
    assert.equal(await box(page), 'View(shape=(2, 3), strides=(12, 4))');
    await page.getByRole('button', { name: 'Row-major strides' }).click();
    await page.getByRole('button', { name: 'Undo' }).click();
    assert.equal(await box(page), 'View(shape=(2, 3), strides=(12, 4))');
    await close(opened);
  });

  test('a wrong input in every box stays there, with a word', async () => {
    const opened = await shown(browser, 'View(shape=(2, 2), strides=(2, 1))');
    const { page } = opened;
    for (const label of ['Size of dimension 0', 'Stride of dimension 0', 'Mask begin of dimension 0', 'Mask end of dimension 0', 'Offset']) {
      await page.getByLabel(label, { exact: true }).fill('many');
      await page.getByText("'many' is no whole number").waitFor();
      assert.equal(await page.getByLabel(label, { exact: true }).getAttribute('aria-invalid'), 'true');
      await page.getByLabel(label, { exact: true }).fill(label.startsWith('Size') ? '2' : label.startsWith('Mask end') ? '2' : label.startsWith('Stride') ? '2' : '0');
      assert.equal(await page.locator('.bad').count(), 0);
    }
    await page.getByLabel('Mask end of dimension 0').fill('9');
    await appears(page, '.box .refusal');
    assert.equal(await page.getByLabel('Mask end of dimension 0').inputValue(), '9');
    await page.fill('#box', 'View(shape=(2, 2), strides=(2,');
    await appears(page, '.box .refusal');
    assert.equal(await page.locator('#elements').count(), 1);
    assert.deepEqual(opened.faults, []);
    await close(opened);
  });

  test('a stack of two Views is told to look in Movement, other texts have an example', async () => {
    const opened = await shown(browser, 'ShapeTracker.from_shape((3,2)).permute((1,0)).reshape((3,2))');
    await opened.page.getByText('a stack of 2 Views').waitFor();
    await opened.page.getByRole('button', { name: 'Look at each View in Movement' }).click();
    await comesTo(() => opened.page.evaluate(() => location.hash), /mode=movement/);
    await close(opened);
    const other = await open(browser, hashOf({ mode: 'shape', q: '((2,4),8):((1,16),2)' }));
    await other.page.locator('.elsewhere button').click();
    await appears(other.page, '#elements');
    await close(other);
  });

  test('hex addresses, bytes and lines', async () => {
    const opened = await shown(browser, 'View(shape=(2, 20), strides=(32, 1))', { hex: '1', bytes: '8' });
    const { page } = opened;
    await page.locator('#elements').focus();
    await page.keyboard.press('ArrowRight');
    await page.keyboard.press('ArrowDown');
    assert.equal(await page.locator('.whereabouts').innerText(), 'index (1, 0) · address 0x20 = ((1*32)+0) · byte 256 · cache line 4');
    const facts = await page.locator('.facts').innerText();
    assert.match(facts, /52 elements, 416 bytes/);
    assert.match(facts, /40 addresses/);
    assert.match(facts, /cache lines\s+6/);
    await close(opened);
  });

  test('2^40 elements by the window that is looked at', async () => {
    const opened = await shown(browser, 'View(shape=(1048576, 1048576), strides=(1, 1048576))');
    const { page } = opened;
    await remembered(page, /addresses 0 to 1099511627775/);
    await page.locator('#elements').focus();
    await page.keyboard.press('ArrowRight');
    for (let i = 0; i < 3; ++i) await page.keyboard.press('ArrowRight');
    await page.keyboard.press('ArrowDown');
    await comesTo(() => page.locator('#elements').getAttribute('aria-label'), /Element 1, 3: address 3145729/);
    assert.deepEqual(opened.faults, []);
    await close(opened);
  });

  test('(1000,1000): at most 8 ms from wheel event to end of draw, in the median of 120', async () => {
    const opened = await shown(browser, 'View(shape=(1000, 1000), strides=(1000, 1))');
    const { page } = opened;
    const at = (await page.locator('#elements').boundingBox()) ?? assert.fail();
    await page.locator('#elements').focus();
    await page.mouse.move(at.x + at.width / 2, at.y + at.height / 2);
    await page.waitForTimeout(500);
    await page.evaluate(() => {
      const kept = globalThis as unknown as { times: number[] };
      let begin = 0;
      addEventListener('wheel', () => (begin = performance.now()), { capture: true });
      // Behind the page's own listener. A pixel is read, so that all is drawn that was asked for.
      addEventListener('wheel', () => {
        document.querySelector<HTMLCanvasElement>('#elements')?.getContext('2d')?.getImageData(0, 0, 1, 1);
        kept.times.push(performance.now() - begin);
      });
    });
    const medians: number[] = [];
    // A machine that does other work beside makes times longer: the best of three runs counts.
    for (let turn = 0; turn < 3 && (medians.length === 0 || Math.min(...medians) > 8); ++turn) {
      await page.evaluate(() => ((globalThis as unknown as { times: number[] }).times = []));
      const taken = (): Promise<number[]> => page.evaluate(() => (globalThis as unknown as { times: number[] }).times);
      for (let i = 0; i < 400 && (i % 10 !== 0 || (await taken()).length < 120); ++i) await page.mouse.wheel(0, i % 40 < 20 ? -100 : 100);
      const times = (await taken()).slice(0, 120).sort((a, b) => a - b);
      assert.equal(times.length, 120);
      medians.push(times[60] ?? NaN);
      console.log(`(1000,1000): wheel event to end of draw, of 120: median ${medians.at(-1)?.toFixed(2)} ms, most ${times.at(-1)?.toFixed(2)} ms`);
    }
    assert.ok(Math.min(...medians) <= 8, `medians ${medians.join(', ')} ms`);
    await close(opened);
  });

  test('saved as SVG, JSON, LaTeX', async () => {
    const opened = await shown(browser, 'View(shape=(2, 2), strides=(1, 2))', { hex: '1' });
    const [download] = await Promise.all([opened.page.waitForEvent('download'), opened.page.getByLabel('Save').selectOption('elements.svg')]);
    const svg = readFileSync(await download.path(), 'utf8');
    for (const [name, right] of [['view.json', /"strides": \[\s*1,\s*2\s*\]/], ['view.tex', /ridx1.*ridx0|ridx0.*ridx1/]] as const) {
      const [saved] = await Promise.all([opened.page.waitForEvent('download'), opened.page.getByLabel('Save').selectOption(name)]);
      assert.match(readFileSync(await saved.path(), 'utf8'), right);
    }
    for (const address of ['0x00', '0x01', '0x02', '0x03']) assert.ok(svg.includes(`>${address}<`), address);
    await close(opened);
  });

  test('symbolic amounts are texts', async () => {
    const opened = await open(browser, hashOf({ mode: 'shape', q: 'n: 1..8; (n,4)' }));
    await settled(opened.page);
    const facts = await opened.page.locator('.facts').innerText();
    assert.match(facts, /memory\s+\(n\*4\) elements/);
    assert.doesNotMatch(facts, /NaN|too many/);
    await close(opened);
  });
});
