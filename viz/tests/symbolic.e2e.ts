// Sliders over bounded sizes, and the box that proves.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { appears, close, comesTo, hashOf, launch, open, settled } from './browser';

const answer = async (page: Page): Promise<string | null> => {
  const box = page.locator('.verdict[data-pending=false]');
  await box.waitFor();
  return box.getAttribute('data-answer');
};

describe('symbolic', () => {
  let browser: Browser;
  before(async () => {
    browser = await launch();
  });
  after(() => browser.close());

  test('the expression stays symbolic, the picture follows', async () => {
    const opened = await open(browser, hashOf({ mode: 'symbolic', q: 'n: 1..12; (n,3).permute(1,0)', at: 'n:4' }));
    const { page } = opened;
    await settled(page);
    await appears(page, '#at');
    await comesTo(() => page.locator('main').innerText(), /\(3, n\)/);
    const slider = page.getByLabel('n', { exact: true });
    await slider.fill('7');
    await comesTo(() => page.evaluate(() => decodeURIComponent(location.hash)), /at=n:7/);
    await page.locator('#at').focus();
    // To the last column, which is that of n = 4 until the engine has answered.
    const moved = async (): Promise<string | null> => {
      await page.keyboard.press('ArrowRight');
      return page.locator('#at').getAttribute('aria-label');
    };
    await comesTo(moved, /Element 0, 6: address 18/);
    await comesTo(() => page.locator('main').innerText(), /\(\(ridx1\*3\)\+ridx0\)/);
    await close(opened);
  });

  test('an element that is pointed at before its address has come is told its address', async () => {
    const wish = { width: 1390 }; // a page of its own: its answers are late
    const first = await open(browser, '', wish);
    await first.page.addInitScript(() => {
      type Listener = (this: Worker, event: MessageEvent) => void;
      const late = { set(this: Worker, f: Listener) { this.addEventListener('message', (e) => setTimeout(() => f.call(this, e), 150)); } };
      Object.defineProperty(Worker.prototype, 'onmessage', late);
    });
    await close(first);
    const { page } = await open(browser, hashOf({ mode: 'symbolic', q: 'n: 1..12; (n,3).permute(1,0)', at: 'n:4' }), wish);
    await appears(page, '#at');
    await page.locator('#at').focus();
    for (const key of ['ArrowRight', 'ArrowRight', 'ArrowRight']) await page.keyboard.press(key);
    await comesTo(() => page.locator('#at').getAttribute('aria-label'), /Element 0, 2: address 6/);
    await page.context().close();
  });

  test('sizes of an expression', async () => {
    const opened = await open(browser, hashOf({ mode: 'symbolic', q: 'i: 0..9; j: 0..9; n: 10..20; i*n + j', at: 'n:12' }));
    await settled(opened.page);
    await appears(opened.page, '#at');
    await opened.page.locator('#at').focus();
    for (const key of ['ArrowDown', 'ArrowDown']) await opened.page.keyboard.press(key);
    await comesTo(() => opened.page.locator('#at').getAttribute('aria-label'), /address 12/);
    await close(opened);
  });

  const cases: [string, string, Record<string, string>, string][] = [
    ['equal', '(3,4).permute(1,0)', { other: 'View(shape=(4, 3), strides=(1, 4))' }, 'true'],
    ['equal', '(3,4).permute(1,0)', { other: '(4,3)' }, 'false'],
    ['injective', 'View(shape=(4, 4), strides=(0, 1))', {}, 'false'],
    ['injective', '(4,4)', {}, 'true'],
    ['contiguous', '(4,4).permute(1,0)', {}, 'false'],
    ['contiguous', '(4,4)', {}, 'true'],
    ['in_bounds', '(4,4)', { size: '16' }, 'true'],
    ['in_bounds', '(4,4)', { size: '15' }, 'false'],
    ['in_bounds', 'i: 0..9; i*2', { size: '18' }, 'false'],
  ];
  for (const [what, q, more, right] of cases)
    test(`${what} of ${q}${Object.values(more).map((v) => ' and ' + v).join('')} is ${right}`, async () => {
      const opened = await open(browser, hashOf({ mode: 'symbolic', q, prove: what, ...more }));
      assert.equal(await answer(opened.page), right);
      if (right === 'false') await comesTo(() => opened.page.locator('.verdict').innerText(), /Counterexample/);
      await close(opened);
    });

  test('wrong inputs of the prove box are told', async () => {
    const opened = await open(browser, hashOf({ mode: 'symbolic', q: '(4,4)', prove: 'in_bounds', size: 'many' }));
    await opened.page.getByText("'many' is no number of elements").waitFor();
    await opened.page.getByLabel('Is it').selectOption('equal');
    await opened.page.getByLabel('Other').fill('(4,');
    await appears(opened.page, '.panel .refusal');
    await close(opened);
  });
});
