// What all modes share: accessibility, links, undo, keys, theme, saving, no network, first picture before the engine.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, describe, test } from 'node:test';
import type { Browser } from 'playwright-core';
import { MODES_SHOWN } from './modes';
import { close, HOME, hashOf, launch, open, settled, violations } from './browser';

describe('frame', () => {
  let browser: Browser;
  before(async () => {
    browser = await launch();
  });
  after(() => browser.close());

  for (const dark of [false, true])
    for (const width of [390, 1400])
      test(`no violation of accessibility, ${dark ? 'dark' : 'light'}, ${width} wide`, async () => {
        for (const mode of MODES_SHOWN) {
          const opened = await open(browser, hashOf(mode.state), { dark, width });
          await settled(opened.page);
          assert.deepEqual(await violations(opened.page), [], mode.name);
          assert.deepEqual(opened.faults, [], mode.name);
          const wide = await opened.page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
          assert.ok(wide <= 0, `${mode.name} is ${wide} pixels wider than the window`);
          await close(opened);
        }
      });

  test('a link says all of it', async () => {
    for (const mode of MODES_SHOWN) {
      const opened = await open(browser, hashOf(mode.state));
      await settled(opened.page);
      const hash = await opened.page.evaluate(() => location.hash);
      const seen = await opened.page.locator('main').innerText();
      const again = await open(browser, hash);
      await settled(again.page);
      assert.equal(await again.page.locator('main').innerText(), seen, mode.name);
      assert.equal(await again.page.evaluate(() => location.hash), hash, mode.name);
      await close(opened);
      await close(again);
    }
  });

  test('what was typed can be undone and done again', async () => {
    const opened = await open(browser, hashOf({ mode: 'box', q: '(2,2)' }));
    const { page } = opened;
    await page.fill('#box', '(2,3)');
    await page.selectOption('#examples', '0');
    await page.getByRole('button', { name: 'Undo' }).click();
    assert.equal(await page.inputValue('#box'), '(2,3)');
    await page.getByRole('button', { name: 'Undo' }).click();
    assert.equal(await page.inputValue('#box'), '(2,2)');
    await page.getByRole('button', { name: 'Redo' }).click();
    assert.equal(await page.inputValue('#box'), '(2,3)');
    await close(opened);
  });

  test('a wrong text has a caret below its place, in bytes and in characters', async () => {
    const opened = await open(browser, hashOf({ mode: 'box', q: 'a: 0..3; a << 2' }));
    const caret = opened.page.locator('.box .refusal pre');
    const [line = '', mark = ''] = (await caret.innerText()).split('\n');
    assert.equal(line, 'a: 0..3; a << 2');
    assert.equal(line.slice(mark.indexOf('^'), mark.indexOf('^') + 2), '<<');
    assert.equal(await opened.page.getAttribute('#box', 'aria-invalid'), 'true');
    await close(opened);
  });

  test('keys change modes and find the box', async () => {
    const opened = await open(browser);
    await opened.page.keyboard.press('/');
    assert.equal(await opened.page.evaluate(() => document.activeElement?.id), 'box');
    await opened.page.keyboard.press('Alt+2');
    assert.equal(await opened.page.getAttribute('nav button:nth-child(2)', 'aria-current'), 'page');
    await close(opened);
  });

  test('the theme is kept, the system is followed', async () => {
    const opened = await open(browser, '', { dark: true });
    assert.equal(await opened.page.evaluate(() => document.documentElement.dataset['theme']), 'dark');
    await opened.page.getByRole('button', { name: 'Light colours' }).click();
    assert.equal(await opened.page.evaluate(() => document.documentElement.dataset['theme']), 'light');
    await opened.page.reload();
    assert.equal(await opened.page.evaluate(() => document.documentElement.dataset['theme']), 'light');
    await close(opened);
  });

  test('frame and first picture are there before the engine, the engine within a second', async () => {
    const context = await browser.newContext({ viewport: { width: 1400, height: 900 } });
    const page = await context.newPage();
    // The engine never comes: what is drawn came with the page.
    await page.addInitScript(() => {
      (window as unknown as { Worker: unknown }).Worker = class {
        postMessage(): void {}
        addEventListener(): void {}
        removeEventListener(): void {}
        terminate(): void {}
      };
    });
    await page.goto(HOME);
    await page.waitForSelector('#picture', { timeout: 5000 });
    assert.equal(await page.locator('[data-engine=ready]').count(), 0);
    assert.match(await page.locator('main').innerText(), /Other spellings/);
    await context.close();
    const times: number[] = [];
    for (let i = 0; i < 5; ++i) {
      const opened = await open(browser);
      times.push(await opened.page.evaluate(() => Number(document.querySelector<HTMLElement>('[data-engine]')?.dataset['milliseconds'])));
      await close(opened);
    }
    assert.ok(Math.min(...times) <= 1000, `${times.join(', ')} ms`);
    console.log(`engine ready after ${times.map(Math.round).join(', ')} ms`);
  });

  test('pictures are saved as SVG, PNG and JSON', async () => {
    const opened = await open(browser, hashOf({ mode: 'box', q: '(2,3)' }));
    await settled(opened.page);
    for (const [name, begin] of [['picture.svg', '<svg'], ['picture.png', '\x89PNG']] as const) {
      const [download] = await Promise.all([opened.page.waitForEvent('download'), opened.page.getByLabel('Save').selectOption(name)]);
      const bytes = readFileSync(await download.path());
      assert.equal(bytes.subarray(0, begin.length).toString('latin1'), begin);
    }
    await close(opened);
  });

  test('the page asks nothing of a network, has no cookies and refuses eval', async () => {
    const opened = await open(browser);
    const tried = await opened.page.evaluate(async () => {
      const script = document.createElement('script');
      // Later: what a test evaluates is allowed to evaluate.
      script.textContent = 'setTimeout(() => { try { window.evaluated = eval("1 + 1"); } catch { window.evaluated = "refused"; } }, 0)';
      document.head.append(script);
      await new Promise((done) => setTimeout(done, 50));
      const fetched = await fetch('https://example.invalid/').then(() => 'fetched', () => 'refused');
      return [(window as unknown as { evaluated: unknown }).evaluated, fetched, document.cookie];
    });
    assert.deepEqual(tried, ['refused', 'refused', '']);
    await close(opened);
  });
});
