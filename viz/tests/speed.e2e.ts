// How quick the page is: interactions on the specification's examples. Times are told; a machine that does other work beside makes
// them longer, so that each is measured several times and the best counts.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { MODES_SHOWN } from './modes';
import { close, hashOf, launch, open, settled } from './browser';

const MOST = 50;

/** The longest task of the page, in milliseconds, while `act` is done; 0 where none took 50 ms. */
async function longest(page: Page, act: () => Promise<void>): Promise<number> {
  await page.evaluate(() => {
    const kept = window as unknown as { longest: number; watch?: PerformanceObserver };
    kept.longest = 0;
    kept.watch?.disconnect();
    kept.watch = new PerformanceObserver((list) => {
      for (const entry of list.getEntries()) kept.longest = Math.max(kept.longest, entry.duration);
    });
    kept.watch.observe({ entryTypes: ['longtask'] });
  });
  await act();
  await settled(page);
  await page.waitForTimeout(120);
  return page.evaluate(() => (window as unknown as { longest: number }).longest);
}

async function interact(page: Page): Promise<void> {
  const box = page.locator('#box');
  await box.focus();
  await page.keyboard.press('End');
  await page.keyboard.type(' ');
  await page.keyboard.press('Backspace');
  for (const canvas of (await page.locator('main canvas').all()).slice(0, 3)) {
    const at = await canvas.boundingBox();
    if (at === null) continue;
    for (let i = 1; i < 8; ++i) await page.mouse.move(at.x + (at.width * i) / 8, at.y + at.height / 2);
    await page.mouse.wheel(0, 60);
  }
  for (const button of (await page.locator('main button:not([disabled])').all()).slice(0, 4)) await button.hover({ timeout: 1000 }).catch(() => undefined);
}

describe('speed', () => {
  let browser: Browser;
  before(async () => {
    browser = await launch();
  });
  after(() => browser.close());

  for (const mode of MODES_SHOWN)
    test(`${mode.name}: no interaction above ${MOST} ms`, async () => {
      const opened = await open(browser, hashOf(mode.state));
      await settled(opened.page);
      const times: number[] = [];
      for (let turn = 0; turn < 4; ++turn) {
        times.push(await longest(opened.page, () => interact(opened.page)));
        if ((times.at(-1) ?? 0) <= MOST) break;
      }
      console.log(`${mode.name}: longest tasks ${times.map(Math.round).join(', ')} ms`);
      assert.ok(Math.min(...times) <= MOST, `${times.join(', ')} ms`);
      assert.deepEqual(opened.faults, []);
      await close(opened);
    });
});
