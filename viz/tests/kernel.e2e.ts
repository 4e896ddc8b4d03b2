// Kernels: loops, Opts by hand, source, UOps and accesses that light each other; WGSL on WebGPU.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { appears, close, comesTo, hashOf, launch, open, settled, type Open } from './browser';

const TEXT = 'a: f32[64,64]; b: f32[64,64]; c = a @ b';

async function shown(browser: Browser, more: Record<string, string> = {}, q = TEXT): Promise<Open> {
  const opened = await open(browser, hashOf({ mode: 'kernel', q, ...more }));
  await appears(opened.page, '#uops [role=option]');
  await settled(opened.page);
  return opened;
}

const state = (page: Page, name: string): Promise<string | null> => page.evaluate((n) => new URLSearchParams(location.hash.slice(1)).get(n), name);
const loops = async (page: Page): Promise<string[]> => (await page.locator('button.loop').allInnerTexts()).map((t) => t.replace(/\s+/g, ' '));

describe('kernel', () => {
  let browser: Browser;
  before(async () => {
    browser = await launch('--enable-unsafe-webgpu');
  });
  after(() => browser.close());

  test('plain loops: a tree of three, the access of each', async () => {
    const opened = await shown(browser, { opts: 'none' });
    const { page } = opened;
    assert.deepEqual((await loops(page)).map((t) => t.split(' axis')[0]), ['loop 64× ridx0', 'loop 64× ridx1', 'reduce 64× ridx2']);
    assert.deepEqual(await page.locator('#accesses [role=option]').count(), 3);
    await comesTo(() => page.locator('#accesses').innerText(), /load b\s*\[\(\(ridx2\*64\)\+ridx1\)\]\s*always\s*0\.\.4095 of 4096\s*by bounds/);
    assert.deepEqual(opened.faults, []);
    await close(opened);
  });

  test('an Opt is added, and taken away', async () => {
    const opened = await shown(browser, { opts: 'none' });
    const { page } = opened;
    await page.getByRole('button', { name: 'Add SPLIT 0 8' }).click();
    assert.equal(await state(page, 'opts'), 'SPLIT 0 8');
    await page.waitForFunction(() => document.querySelectorAll('button.loop').length === 4);
    await page.getByRole('button', { name: 'Add LANES 1 8' }).click();
    await page.waitForFunction(() => /lanes\s*8×/.test(document.querySelector('ul.loops')?.textContent ?? ''));
    assert.equal(await state(page, 'opts'), 'SPLIT 0 8, LANES 1 8');
    await page.getByRole('button', { name: 'Take away SPLIT 0 8' }).click();
    assert.equal(await state(page, 'opts'), 'LANES 1 8');
    await page.getByRole('button', { name: 'auto' }).click();
    assert.equal(await state(page, 'opts'), null);
    await close(opened);
  });

  test('a refused Opt is grey, with the reason of the compiler', async () => {
    const opened = await shown(browser, { opts: 'none' });
    const { page } = opened;
    const refused = page.getByRole('button', { name: 'PARALLEL 2 is refused' });
    await refused.waitFor();
    assert.equal(await refused.getAttribute('aria-disabled'), 'true');
    await refused.focus();
    await page.waitForFunction(() => /\[PARALLEL 2\]/.test(document.getElementById('opt-reason')?.textContent ?? ''));
    await refused.click({ force: true });
    assert.equal(await state(page, 'opts'), 'none');
    await close(opened);
  });

  test('a wrong list of Opts is refused, the last good kernel stays', async () => {
    const opened = await shown(browser, { opts: 'none' });
    const { page } = opened;
    await page.getByLabel('list').fill('UPCAST 9 4');
    await page.waitForFunction(() => /axis 9|no axis/.test(document.querySelector('.kernel .refusal')?.textContent ?? ''));
    assert.equal((await loops(page)).length, 3);
    await page.getByLabel('list').fill('JUMP 1');
    await page.waitForFunction(() => /\^/.test(document.querySelector('.kernel .refusal pre')?.textContent ?? ''));
    await close(opened);
  });

  test('a wrong text is refused under a caret', async () => {
    const opened = await shown(browser);
    await opened.page.fill('#box', 'a: f32[8]; b = a +');
    await appears(opened.page, '.box .refusal');
    await close(opened);
  });

  test('a UOp lights its line, its loop and its access', async () => {
    const opened = await shown(browser, { opts: 'none' });
    const { page } = opened;
    await page.locator('#uops').focus();
    const load = await page.locator('#uops [role=option]', { hasText: 'LOAD' }).first().getAttribute('aria-posinset');
    for (let i = 0; i < Number(load); ++i) await page.keyboard.press('ArrowDown');
    await comesTo(() => page.locator('#source .row.lit').innerText(), /= data1\[/);
    await comesTo(() => page.locator('#accesses .row.lit').innerText(), /load a/);
    await comesTo(() => page.locator('button.loop.lit').innerText(), /ridx2/);
    await page.locator('button.loop').nth(1).hover();
    await page.waitForFunction(() => /for \(int ridx1/.test(document.querySelector('#source .row.lit')?.textContent ?? ''));
    await close(opened);
  });

  test('each language has its source; a link says which', async () => {
    const right: [string, RegExp][] = [
      ['llvm', /define internal void @/], ['opencl', /__kernel void/], ['cuda', /__global__/], ['metal', /kernel void/], ['wgsl', /@compute @workgroup_size/], ['c', /void r_64/],
    ];
    const opened = await shown(browser, { opts: 'none' });
    const { page } = opened;
    for (const [target, source] of right) {
      await page.getByLabel('Language').selectOption(target);
      await page.waitForFunction(([s]) => new RegExp(s ?? '').test(document.getElementById('source')?.textContent ?? ''), [source.source]);
      assert.equal(await state(page, 'target'), target === 'c' ? null : target);
    }
    await close(opened);
  });

  test('what a language lacks is said; the loops stay', async () => {
    const opened = await shown(browser, { target: 'wgsl', opts: 'none' }, 'a: f64[8]; b = a + 1');
    await opened.page.waitForFunction(() => /f64/.test(document.querySelector('.kernel .refusal')?.textContent ?? ''));
    assert.equal((await loops(opened.page)).length, 1);
    await close(opened);
  });

  test('an access leads to its addresses', async () => {
    const opened = await shown(browser, { opts: 'none' });
    const { page } = opened;
    await page.locator('#accesses').focus();
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    assert.equal(await state(page, 'mode'), 'expression');
    assert.equal(await state(page, 'q'), 'ridx0: 0..63; ridx2: 0..63; ((ridx0*64)+ridx2)');
    await settled(page);
    assert.equal(await page.locator('.box .refusal').count(), 0);
    await close(opened);
  });

  test('a link says all of it; JSON and SVG are offered', async () => {
    const opened = await shown(browser, { opts: 'SPLIT 0 8, UNROLL 2 4', target: 'cuda' });
    const before = [await loops(opened.page), await opened.page.locator('#source').innerText()];
    const again = await open(browser, await opened.page.evaluate(() => location.hash));
    await appears(again.page, '#uops [role=option]');
    await settled(again.page);
    assert.deepEqual([await loops(again.page), await again.page.locator('#source').innerText()], before);
    const names = await opened.page.getByLabel('Save').locator('option').allTextContents();
    assert.ok(names.includes('kernel.json') && names.includes('loops.svg') && names.includes('loops.png'), names.join());
    await close(opened);
    await close(again);
  });

  test('another kind of text is answered with an example', async () => {
    const opened = await open(browser, hashOf({ mode: 'kernel', q: '(2,3).permute(1,0)' }));
    await opened.page.locator('.elsewhere button').click();
    await appears(opened.page, '#uops [role=option]');
    await close(opened);
  });

  for (const [text, opts] of [
    [TEXT, 'PARALLEL 0'],
    ['a: f32[32,100]; e = exp(a - a.max(1).reshape(32,1)); b = e / e.sum(1).reshape(32,1)', 'auto'],
    ['n: 1..40; a: i32[n]; b = a.pad(1:2) * 3', 'none'],
  ] as const)
    test(`WGSL runs and agrees with the interpreter: ${text}, ${opts}`, async () => {
      const opened = await shown(browser, { opts }, text);
      const { page } = opened;
      await page.getByRole('button', { name: 'Run on WebGPU' }).click();
      await appears(page, '.runs [data-difference]');
      const most = Number(await page.locator('.runs [data-difference]').getAttribute('data-difference'));
      assert.ok(most < 1e-4, `${most}`);
      assert.deepEqual(opened.faults, []);
      await close(opened);
    });

  test('what WebGPU does not run is said', async () => {
    const opened = await shown(browser, { opts: 'none' }, 'a: f16[8]; b = a + 1');
    await opened.page.getByRole('button', { name: 'Run on WebGPU' }).click();
    await opened.page.getByText(/holds f16/).waitFor();
    await close(opened);
  });

  test('without WebGPU the page says so', async () => {
    const plain = await launch('--disable-features=WebGPU', '--disable-blink-features=WebGPU');
    const opened = await shown(plain, { opts: 'none' });
    const has = await opened.page.evaluate(() => 'gpu' in navigator);
    if (!has) await opened.page.getByText('This browser has no WebGPU').waitFor();
    else {
      await opened.page.evaluate(() => Object.defineProperty(navigator, 'gpu', { value: { requestAdapter: () => Promise.resolve(null) } }));
      await opened.page.getByRole('button', { name: 'Run on WebGPU' }).click();
      await opened.page.getByText('gives no device').waitFor();
    }
    await close(opened);
    await plain.close();
  });
});
