// Chains of movement operations: the steps, the stack from the indices down to memory, why there are two Views.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Browser } from 'playwright-core';
import { appears, close, comesTo, hashOf, launch, open, settled } from './browser';

const TWO = 'ShapeTracker.from_shape((3,2)).permute((1,0)).reshape((3,2))';

describe('movement', () => {
  let browser: Browser;
  before(async () => {
    browser = await launch();
  });
  after(() => browser.close());

  test('two Views: each is drawn, the carry and the witness are told', async () => {
    const opened = await open(browser, hashOf({ mode: 'movement', q: TWO }));
    const { page } = opened;
    await settled(page);
    await appears(page, '#view-0');
    assert.equal(await page.locator('.level canvas[id^=view-]').count(), 2);
    await comesTo(() => page.locator('.why').innerText(), /carries from dimension/);
    await comesTo(() => page.locator('main').innerText(), /\(\(\(\(\(ridx0\*2\)\+ridx1\)%3\)\*2\)\+\(\(\(ridx0\*2\)\+ridx1\)\/\/3\)\)/);
    await close(opened);
  });

  test('a cell leads down to its address', async () => {
    const opened = await open(browser, hashOf({ mode: 'movement', q: TWO }));
    const { page } = opened;
    await settled(page);
    const top = page.locator('#view-1');
    await top.focus();
    for (const key of ['ArrowDown', 'ArrowDown', 'ArrowRight']) await page.keyboard.press(key); // to (0,0), then (1,0), (1,1)
    // Element (1,1) is number 3 of the upper View, index (1,0) of the lower one, address 1.
    await comesTo(() => top.getAttribute('aria-label'), /Element 1, 1: address 3/);
    await close(opened);
  });

  test('keys go through the elements of a step, and all pictures follow', async () => {
    const opened = await open(browser, hashOf({ mode: 'movement', q: '(3,4).pad((0,0),(0,1))' }));
    const { page } = opened;
    await settled(page);
    const stage = page.locator('canvas.stage');
    await stage.focus();
    for (const key of ['Home', 'ArrowDown', 'ArrowRight']) await page.keyboard.press(key);
    await comesTo(() => stage.getAttribute('aria-label'), /Element 1, 1: address 5/);
    await comesTo(() => page.locator('.whereabouts.way').innerText(), /address 5$/);
    for (let i = 0; i < 3; ++i) await page.keyboard.press('ArrowRight');
    await comesTo(() => stage.getAttribute('aria-label'), /Element 1, 4: masked/);
    await close(opened);
  });

  test('an operation is added, changed, moved and removed; the box follows', async () => {
    const opened = await open(browser, hashOf({ mode: 'movement', q: '(2,3)' }));
    const { page } = opened;
    await settled(page);
    await page.getByLabel('Add', { exact: true }).selectOption('permute');
    assert.equal(await page.inputValue('#box'), 'ShapeTracker.from_shape((2, 3)).permute((1, 0))');
    await settled(page);
    await page.getByLabel('Add', { exact: true }).selectOption('flip');
    await page.getByLabel('Argument of flip, step 2').fill('(0,)');
    await settled(page);
    await comesTo(() => page.inputValue('#box'), /\.flip\(\(0,\)\)$/);
    await page.getByRole('button', { name: 'Move step 2 up' }).click();
    await settled(page);
    await comesTo(() => page.inputValue('#box'), /\.flip\(\(0,\)\)\.permute\(\(1, 0\)\)$/);
    await page.getByRole('button', { name: 'Remove step 1' }).click();
    await comesTo(() => page.inputValue('#box'), /^ShapeTracker\.from_shape\(\(2, 3\)\)\.permute\(\(1, 0\)\)$/);
    await close(opened);
  });

  test('a wrong argument is refused under a caret', async () => {
    const opened = await open(browser, hashOf({ mode: 'movement', q: '(2,3).permute(1,0)' }));
    const { page } = opened;
    await settled(page);
    await page.getByLabel('Argument of permute, step 1').fill('(1, 1)');
    await appears(page, '.box .refusal');
    await comesTo(() => page.locator('.box .refusal').innerText(), /permute/);
    await close(opened);
  });

  test('simplify() merges what it can', async () => {
    const opened = await open(browser, hashOf({ mode: 'movement', q: '(10,10).permute(1,0).reshape(5,2,5,2).reshape(100).reshape(10,10)' }));
    await settled(opened.page);
    await opened.page.getByText('simplify() merges 2 Views into 1').waitFor();
    await close(opened);
  });

  test('the film plays to its end', async () => {
    const opened = await open(browser, hashOf({ mode: 'movement', q: '(2,3).permute(1,0).flip(0)', step: '0' }));
    const { page } = opened;
    await settled(page);
    await page.getByRole('button', { name: 'Play' }).click();
    await page.waitForFunction(() => new URLSearchParams(location.hash.slice(1)).get('step') === '2', null, { timeout: 6000 });
    await page.getByRole('button', { name: 'Play' }).waitFor({ timeout: 6000 });
    assert.deepEqual(opened.faults, []);
    await close(opened);
  });
});
