// Pictures of each mode, in two themes and two widths, into ../build/viz-pictures; those of docs/viz.md (light, wide) are copied with --docs.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { Browser } from 'playwright-core';
import { MODES_SHOWN } from './modes';
import { close, folder, hashOf, launch, open, settled } from './browser';
import { DIGITS_TRACE, loadTrace, traceDigits } from './traces';

const OUT = '../build/viz-pictures';
const DOCS = process.env['STRATA_VIZ_DOCS'] === '1' ? '../docs/pictures' : null;

describe('pictures', () => {
  let browser: Browser;
  const kept = folder();
  const digits = join(kept.path, DIGITS_TRACE);
  before(async () => {
    browser = await launch();
    traceDigits(digits);
    mkdirSync(OUT, { recursive: true });
    if (DOCS !== null) mkdirSync(DOCS, { recursive: true });
  });
  after(async () => {
    await browser.close();
    kept.remove();
  });

  for (const mode of MODES_SHOWN)
    test(mode.name, async () => {
      for (const dark of [false, true])
        for (const width of [390, 1400]) {
          const opened = await open(browser, hashOf(mode.state), { dark, width, height: width === 390 ? 844 : 900 });
          if (mode.name === 'live') await loadTrace(opened.page, digits);
          await settled(opened.page);
          await opened.page.screenshot({ path: join(OUT, `${mode.name}-${width}${dark ? '-dark' : ''}.png`), fullPage: true });
          if (DOCS !== null && !dark && width === 1400) {
            await opened.page.setViewportSize({ width: 1100, height: 760 });
            await settled(opened.page);
            await opened.page.screenshot({ path: join(DOCS, `viz-${mode.name}.png`) });
          }
          await close(opened);
        }
    });
});
