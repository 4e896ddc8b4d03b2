// Each puzzle is solved in two ways, and a near miss is told where it is wrong.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Browser } from 'playwright-core';
import { PUZZLES } from '../src/modes/tour/puzzles';
import { appears, close, hashOf, launch, open, type Open } from './browser';

async function verdict(opened: Open): Promise<{ right: boolean; words: string }> {
  const box = opened.page.locator('.verdict[data-pending=false]');
  await box.waitFor();
  return { right: (await box.getAttribute('class'))?.includes('right') === true, words: await box.innerText() };
}

describe('tour', () => {
  let browser: Browser;
  before(async () => {
    browser = await launch();
  });
  after(() => browser.close());

  test('there are twelve puzzles', () => assert.equal(new Set(PUZZLES.map((p) => p.id)).size, 12));

  for (const puzzle of PUZZLES)
    test(`puzzle ${puzzle.id}: two solutions, a near miss, and its start is no solution`, async () => {
      const opened = await open(browser, hashOf({ mode: 'tour', puzzle: puzzle.id, q: puzzle.start }));
      assert.equal((await verdict(opened)).right, false, puzzle.start);
      for (const solution of puzzle.solutions) {
        await opened.page.fill('#box', solution);
        await appears(opened.page, '.verdict.right', 5000);
      }
      await opened.page.fill('#box', puzzle.miss);
      await opened.page.waitForFunction(() => document.querySelector('.verdict[data-pending=false]:not(.right)') !== null);
      const { words } = await verdict(opened);
      assert.match(words, /differs from the goal at|are both in bank/, words);
      assert.deepEqual(opened.faults, []);
      await close(opened);
    });

  test('what cannot be read is no solution', async () => {
    const opened = await open(browser, hashOf({ mode: 'tour', puzzle: 'transpose', q: 'View(shape=(4, 3' }));
    await appears(opened.page, '.box .refusal');
    const { right, words } = await verdict(opened);
    assert.equal(right, false);
    // What is wrong with it is told once, below the box.
    assert.match(words, /the box cannot be read/);
    await close(opened);
  });

  test('solved puzzles are remembered', async () => {
    const opened = await open(browser, hashOf({ mode: 'tour', puzzle: 'transpose', q: '(3,4).permute(1,0)' }));
    await appears(opened.page, '.verdict.right');
    await opened.page.reload();
    await opened.page.getByText('1 of 12 solved').waitFor();
    await close(opened);
  });
});
