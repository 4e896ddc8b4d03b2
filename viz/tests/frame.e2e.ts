// What all modes share: accessibility, links, undo, keys, theme, saving, no network, first picture before the engine.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, describe, test } from 'node:test';
import type { Browser } from 'playwright-core';
import { MODES_SHOWN } from './modes';
import { appears, close, comesTo, hashOf, HOME, launch, open, settled, steady, violations } from './browser';

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
      const seen = await steady(opened.page);
      const hash = await opened.page.evaluate(() => location.hash);
      const again = await open(browser, hash);
      assert.equal(await steady(again.page), seen, mode.name);
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

  test('a change of the link is a step of its own between typed ones', async () => {
    const opened = await open(browser, hashOf({ mode: 'box', q: '(2,2)' }));
    const { page } = opened;
    await page.fill('#box', '(2,3)');
    await page.evaluate((hash) => (location.hash = hash), hashOf({ mode: 'box', q: '(4,4)' }));
    await page.waitForFunction(() => document.querySelector<HTMLTextAreaElement>('#box')?.value === '(4,4)');
    await page.fill('#box', '(4,5)');
    for (const before of ['(4,4)', '(2,3)', '(2,2)']) {
      await page.getByRole('button', { name: 'Undo' }).click();
      assert.equal(await page.inputValue('#box'), before);
    }
    await close(opened);
  });

  test('half of a pair of UTF-16 is taken as a text like others', async () => {
    const opened = await open(browser, hashOf({ mode: 'box', q: '(2,2)' }));
    await opened.page.evaluate(() => {
      const box = document.querySelector<HTMLTextAreaElement>('#box');
      if (box === null) return;
      box.value = '(2,2) \ud83d';
      box.dispatchEvent(new InputEvent('input', { bubbles: true }));
    });
    await appears(opened.page, '.box .refusal');
    await comesTo(() => opened.page.evaluate(() => location.hash), /%EF%BF%BD$/);
    assert.deepEqual(opened.faults, []);
    await close(opened);
  });

  test('links with nonsense in them show what they can', async () => {
    const q = '(3,2).permute(1,0).reshape(3,2)';
    const opened = await open(browser, hashOf({ mode: 'movement', q, step: '1.5' }));
    const { page } = opened;
    const whole = await page.locator('main').innerText();
    assert.match(whole, /After reshape/);
    for (const step of ['-1', 'abc', '9999', '1e3', '']) {
      await page.evaluate((hash) => (location.hash = hash), hashOf({ mode: 'movement', q, step }));
      await settled(page);
      assert.equal(await page.locator('main').innerText(), whole, step);
    }
    await page.evaluate((hash) => (location.hash = hash), hashOf({ mode: 'shape', q: '(3,4)', bytes: '-3', line: '0.5' }));
    await appears(page, '.dims');
    assert.deepEqual([await page.getByLabel('Element', { exact: true }).inputValue(), await page.getByLabel('Cache line').inputValue()], ['4', '64']);
    await page.evaluate((hash) => (location.hash = hash), hashOf({ mode: 'symbolic', q: '(3,4)', prove: 'no question' }));
    await appears(page, '[data-answer=true]');
    assert.deepEqual(opened.faults, []);
    await close(opened);
  });

  test('a box without a text that can be read says so, in every mode', async () => {
    for (const mode of ['box', 'shape', 'expression', 'movement', 'layouts', 'symbolic'])
      for (const [q, said] of [['  ', 'The box is empty.'], ['View(', 'The box has nothing that can be read.']] as const) {
        if (mode === 'expression' && q !== '  ') continue; // it has boxes for the parts of what cannot be read
        const opened = await open(browser, hashOf({ mode, q }));
        await settled(opened.page);
        assert.ok((await opened.page.locator('.elsewhere').innerText()).includes(said), `${mode}: ${q}`);
        await opened.page.locator('.elsewhere button').click();
        await appears(opened.page, 'main canvas');
        await close(opened);
      }
  });

  test('an example looks the same after whatever was chosen before', async () => {
    const opened = await open(browser, hashOf({ mode: 'movement', q: '(3,2).permute(1,0)', step: '0', bytes: '8' }));
    await opened.page.selectOption('#examples', { label: 'padded and flipped' });
    assert.deepEqual([...new URLSearchParams((await opened.page.evaluate(() => location.hash)).slice(1)).keys()], ['mode', 'q']);
    await close(opened);
  });

  test('the tab of the mode is seen on a narrow screen', async () => {
    const opened = await open(browser, hashOf({ mode: 'tour' }), { width: 390 });
    const tab = await opened.page.locator('nav button[aria-current]').boundingBox();
    assert.ok(tab !== null && tab.x >= 0 && tab.x + tab.width <= 390, JSON.stringify(tab));
    await close(opened);
  });

  test('small panels share their questions, and each cell has its own address', async () => {
    const opened = await open(browser, hashOf({ mode: 'box', q: '(2,2)' }));
    const { page } = opened;
    await page.evaluate(() => {
      const post = Worker.prototype.postMessage;
      const kept = window as unknown as { questions: number };
      kept.questions = 0;
      Worker.prototype.postMessage = function (this: Worker, ...args: [unknown]) {
        kept.questions += 1;
        return post.apply(this, args);
      } as typeof post;
    });
    for (const shape of [[1099511627776, 2, 2], [64, 64, 8, 8], [100000, 2, 2], [3, 2, 9, 30, 13], [700, 1, 20000], [700, 20000, 1]]) {
      await page.evaluate((hash) => ((window as unknown as { questions: number }).questions = 0, (location.hash = hash)), hashOf({ mode: 'box', q: `(${shape.join(',')})` }));
      await settled(page);
      await page.waitForTimeout(700);
      const asked = await page.evaluate(() => (window as unknown as { questions: number }).questions);
      assert.ok(asked < 120, `${shape.join()}: ${asked} questions`);
      const at = await page.locator('#picture').boundingBox();
      let seen = 0;
      for (let i = 1; i < 30 && at !== null; ++i) {
        await page.mouse.move(at.x + (at.width * i) / 30, at.y + (at.height * ((i * 7) % 30)) / 30);
        const said = /index \(([\d, ]+)\) · address (\d+)/.exec(await page.locator('.whereabouts').innerText());
        if (said === null) continue;
        const index = (said[1] ?? '').split(',').map(Number);
        assert.equal(Number(said[2]), index.reduce((a, v, d) => a * (shape[d] ?? 1) + v, 0), `${shape.join()} at ${index.join()}`);
        seen += 1;
      }
      assert.ok(seen > 2, `${shape.join()}: ${seen} cells`);
    }
    assert.deepEqual(opened.faults, []);
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
    // A keyboard on which Alt and 3 are another character.
    await opened.page.evaluate(() => dispatchEvent(new KeyboardEvent('keydown', { key: '£', code: 'Digit3', altKey: true })));
    assert.equal(await opened.page.getAttribute('nav button:nth-child(3)', 'aria-current'), 'page');
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
    await appears(page, '#picture', 5000);
    assert.equal(await page.locator('[data-engine=ready]').count(), 0);
    await comesTo(() => page.locator('main').innerText(), /Other spellings/);
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
