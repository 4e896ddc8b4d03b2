// Index expressions: the specification's picture, what the original tool had wrong, boxes, steps with their proofs.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { appears, close, comesTo, hashOf, launch, open, settled, type Open } from './browser';

async function shown(browser: Browser, q: string, more: Record<string, string> = {}): Promise<Open> {
  const opened = await open(browser, hashOf({ mode: 'expression', q, ...more }));
  await appears(opened.page, '#values');
  await opened.page.getByText('bounds', { exact: true }).waitFor();
  await settled(opened.page);
  return opened;
}

const row = (page: Page, name: string): Promise<string> => page.locator('.spelling', { has: page.locator('.name', { hasText: new RegExp(`^${name}$`) }) }).first().locator('code').innerText();
const box = (page: Page): Promise<string> => page.inputValue('#box');
const bounds = (page: Page): Promise<string> => page.locator('.facts dd').first().innerText();

/** Waits until the values are these. */
async function valued(page: Page, right: string): Promise<void> {
  await page.locator('.spelling code', { hasText: new RegExp(`^${right.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')}$`) }).first().waitFor();
  await settled(page);
  assert.equal(await row(page, 'in order'), right);
}

describe('expression', () => {
  let browser: Browser;
  before(async () => {
    browser = await launch();
  });
  after(() => browser.close());

  test('(3,2) transposed and reshaped: 0 2 4 1 3 5', async () => {
    const opened = await shown(browser, '(((((ridx0*2)+ridx1)%3)*2)+(((ridx0*2)+ridx1)//3))');
    const { page } = opened;
    // Names without bounds have proposed ones.
    assert.equal(await page.getByLabel('Most ridx0').inputValue(), '7');
    await page.getByLabel('Most ridx0').fill('2');
    await page.getByLabel('Most ridx1').fill('1');
    assert.equal(await box(page), 'ridx0: 0..2; ridx1: 0..1; (((((ridx0*2)+ridx1)%3)*2)+(((ridx0*2)+ridx1)//3))');
    await page.getByLabel('Valid', { exact: true }).fill('1');
    await valued(page, '0 2 4 1 3 5');
    await page.locator('#values').focus();
    for (const key of ['Home', 'ArrowDown', 'ArrowRight']) await page.keyboard.press(key);
    assert.equal(await page.locator('.whereabouts').innerText(), 'ridx0=1 ridx1=1 · value 1 = (((((1*2)+1)%3)*2)+(((1*2)+1)//3))');
    await comesTo(() => bounds(page), /0 to 5 exact/);
    assert.deepEqual(opened.faults, []);
    await close(opened);
  });

  // What the original tool had wrong.
  const faults: [string, string, RegExp | null][] = [
    ['1 + 2 * 3', '7', null],
    ['i: 0..3; i - 1', '-1 0 1 2', null],
    ['i: 0..1; j: 0..1; i - j', '0 -1 1 0', null],
    ['(1-2) % 3', '2', null],
    ['idx0: 0..3; (idx0*5)%3', '0 2 1 0', /0 to 2 exact/],
    ['i: 0..1; j: 0..1; i < 1 and j < 1', '1 0 0 0', null],
    ['i: 0..2; i == 1 or not (i > 0)', '1 1 0', null],
    ['brand: 0..2; min(brand, 1) + max(brand, 1)', '1 2 3', null],
  ];
  for (const [q, right, range] of faults)
    test(`${q}: ${right}`, async () => {
      const opened = await shown(browser, q);
      await valued(opened.page, right);
      if (range !== null) await comesTo(() => bounds(opened.page), range);
      await close(opened);
    });

  test('<< is rejected, with its column', async () => {
    const opened = await open(browser, hashOf({ mode: 'expression', q: 'idx0: 0..3; idx0 << 2' }));
    const refusal = opened.page.locator('.box .refusal');
    await refusal.waitFor();
    await comesTo(() => refusal.innerText(), /<<[\s\S]*\(column 18\)/);
    assert.equal(await opened.page.getByLabel('Index', { exact: true }).inputValue(), 'idx0 << 2');
    await close(opened);
  });

  test('what is not valid has no value', async () => {
    const opened = await shown(browser, 'i: 0..2; j: 0..1; i*2 + j; valid i < 2');
    await valued(opened.page, '0 1 2 3 · ·');
    await opened.page.getByText('taken: 0 to 3, 4 different ones, in 4 of 6 places').waitFor();
    await opened.page.getByLabel('Valid', { exact: true }).fill('i + j > 1');
    assert.equal(await box(opened.page), 'i: 0..2; j: 0..1; i*2 + j; valid i + j > 1');
    await valued(opened.page, '· · · 3 4 5');
    await close(opened);
  });

  test('variables begin where their bounds say; more than two are panels', async () => {
    const opened = await shown(browser, 'a: 5..6; b: -1..0; c: 2..4; a*100 + b*10 + c');
    const { page } = opened;
    await page.locator('#values').focus();
    for (const key of ['Home', 'ArrowRight', 'ArrowDown', 'PageDown']) await page.keyboard.press(key);
    assert.equal(await page.locator('.whereabouts').innerText(), 'b=0 a=6 c=3 · value 603 = 6*100 + 0*10 + 3');
    assert.equal(await row(page, 'in order'), '492 493 494 502 503 504 592 593 594 602 603 604');
    await close(opened);
  });

  test('rules that fired, each with its guard and proof; a step shows the expression there', async () => {
    const opened = await shown(browser, 'a: 0..9; b: 0..9; (a + b*10) % 10 + (b*4+3)//4');
    const { page } = opened;
    assert.equal(await row(page, 'index'), '(a+b)');
    const steps = page.locator('.steps li');
    assert.ok((await steps.count()) >= 3);
    for (const text of await steps.allInnerTexts()) assert.match(text, /→[\s\S]*(always|if )[\s\S]*·\s*\S/);
    await steps.filter({ hasText: 'M11' }).first().locator('button').click();
    await comesTo(() => page.evaluate(() => location.hash), /step=\d/);
    await page.getByText('Proven equal to the text').waitFor();
    await comesTo(() => row(page, 'after it'), /a%10/);
    await comesTo(() => row(page, 'the rule'), /^M11, /);
    await close(opened);
  });

  test('a wrong input in every box, names that are renamed, variables added and removed', async () => {
    const opened = await shown(browser, 'i: 0..3; j: 0..1; i*2 + j');
    const { page } = opened;
    for (const [label, wrong, word] of [['Name of variable 1', 'j', 'there is a j already'], ['Name of variable 1', '2x', "'2x' is no name"], ['Least i', 'x', "'x' is no whole number"], ['Most i', '', "'' is no whole number"]] as const) {
      await page.getByLabel(label).fill(wrong);
      await page.getByText(word).waitFor();
      assert.equal(await box(page), 'i: 0..3; j: 0..1; i*2 + j');
      await page.getByLabel(label).fill(label.startsWith('Name') ? 'i' : label.startsWith('Least') ? '0' : '3');
    }
    await page.getByLabel('Name of variable 1').fill('row');
    assert.equal(await box(page), 'row: 0..3; j: 0..1; row*2 + j');
    await page.getByRole('button', { name: 'Add a variable' }).click();
    await page.getByLabel('Index', { exact: true }).fill('row*2 + j + i*');
    await appears(page, '.box .refusal');
    await page.getByLabel('Index', { exact: true }).fill('row*2 + j + i*8');
    await page.getByRole('button', { name: 'Remove j' }).click();
    await page.getByText('proposed', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Keep the proposed bounds' }).click();
    assert.equal(await box(page), 'row: 0..3; i: 0..3; j: 0..7; row*2 + j + i*8');
    await page.getByLabel('Valid', { exact: true }).fill('row <');
    await appears(page, '.box .refusal');
    await page.getByLabel('Valid', { exact: true }).fill('');
    await page.getByLabel('Least row').fill('9');
    await appears(page, '.box .refusal');
    assert.equal(await page.locator('#values').count(), 1);
    assert.deepEqual(opened.faults, []);
    await close(opened);
  });

  test('texts of other kinds have an example', async () => {
    const opened = await open(browser, hashOf({ mode: 'expression', q: '(2,2)' }));
    await opened.page.locator('.elsewhere button').click();
    await valued(opened.page, '0 2 4 1 3 5');
    await close(opened);
  });
});
