// The built page in Debian's chromium: what end-to-end tests share.
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type Browser, chromium, type Page } from 'playwright-core';

export const PAGE = resolve(process.env['STRATA_VIZ_PAGE'] ?? '../build/viz/strata.html');
export const HOME = pathToFileURL(PAGE).href;

/** Chromium alone, without what it asks of a network at its start. */
export function launch(...more: string[]): Promise<Browser> {
  const quiet = ['--disable-background-networking', '--disable-component-update', '--disable-sync', '--no-first-run', '--disable-quic'];
  return chromium.launch({ executablePath: process.env['CHROMIUM'] ?? '/usr/bin/chromium', args: ['--no-sandbox', ...quiet, ...more] });
}

export interface Open {
  readonly page: Page;
  /** Errors of scripts and of the console, and requests that left the page; a test ends with none. */
  readonly faults: string[];
}

export interface Wish {
  readonly width?: number;
  readonly height?: number;
  readonly dark?: boolean;
}

/** Pages that tests have closed, by browser and wish: such a page loads again in half the time that a new one takes. */
const closed = new WeakMap<Browser, Map<string, Page[]>>();
const wishes = new WeakMap<Page, { browser: Browser; wish: string }>();

async function newPage(browser: Browser, wish: Wish): Promise<Page> {
  const context = await browser.newContext({
    viewport: { width: wish.width ?? 1400, height: wish.height ?? 900 },
    colorScheme: wish.dark === true ? 'dark' : 'light',
    acceptDownloads: true,
  });
  const page = await context.newPage();
  wishes.set(page, { browser, wish: JSON.stringify(wish) });
  return page;
}

/** The page with a hash, its engine ready and its questions answered. It keeps nothing of an earlier test. */
export async function open(browser: Browser, hash = '', wish: Wish = {}): Promise<Open> {
  const page = closed.get(browser)?.get(JSON.stringify(wish))?.pop() ?? (await newPage(browser, wish));
  const faults: string[] = [];
  page.on('pageerror', (e) => faults.push(`error: ${e.message}`));
  page.on('console', (m) => (m.type() === 'error' ? faults.push(`console: ${m.text()}`) : undefined));
  page.on('request', (r) => (/^(file|data|blob):/.test(r.url()) ? undefined : faults.push(`request: ${r.url()}`)));
  await page.goto(HOME + hash);
  await appears(page, '[data-engine=ready]');
  await settled(page);
  return { page, faults };
}

/** Waits until an element is visible, as Playwright says it. NOTE: it looks at each frame; waitForSelector() twice a second. */
export async function appears(page: Page, selector: string, timeout = 20_000): Promise<void> {
  const isVisible = (of: string): boolean => {
    const element = document.querySelector(of);
    if (element === null) return false;
    const box = element.getBoundingClientRect();
    return box.width > 0 && box.height > 0 && getComputedStyle(element).visibility === 'visible';
  };
  await page.waitForFunction(isVisible, selector, { timeout });
}

/** Empties the page, and keeps it for the next test. */
export async function close({ page }: Open): Promise<void> {
  page.removeAllListeners();
  await page.evaluate(() => localStorage.clear());
  await page.goto('about:blank');
  await page.mouse.move(0, 0);
  const { browser, wish } = wishes.get(page)!;
  const pages = closed.get(browser) ?? new Map<string, Page[]>();
  pages.set(wish, [...(pages.get(wish) ?? []), page]);
  closed.set(browser, pages);
}

/** A hash that says these values. */
export const hashOf = (values: Record<string, string>): string =>
  '#' + Object.entries(values).map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`).join('&');

/** Waits until the page has answered what its box asks. */
export async function settled(page: Page): Promise<void> {
  // An answer may lead to the next question: nothing is asked in two frames either.
  for (let turn = 0; turn < 2; ++turn) {
    await page.waitForFunction(() => document.querySelector('[data-pending=true]') === null);
    await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
  }
}

/** Waits until what `read` returns matches, for at most 20 s. NOTE: a picture follows keys and sliders a frame or an answer later. */
export async function comesTo(read: () => Promise<string | null>, pattern: RegExp): Promise<void> {
  let said = await read();
  for (const end = Date.now() + 20_000; !pattern.test(said ?? '') && Date.now() < end; said = await read())
    await new Promise((done) => setTimeout(done, 20));
  assert.match(said ?? '', pattern);
}

/** What the page says once it says the same for half a second: answers that lead to further questions have come. */
export async function steady(page: Page): Promise<string> {
  const said = (): Promise<string> => page.locator('main').innerText();
  await settled(page);
  let last = await said();
  for (let same = 0; same < 5; ) {
    await page.waitForTimeout(100);
    await settled(page);
    const now = await said();
    same = now === last ? same + 1 : 0;
    last = now;
  }
  return last;
}

/** A folder for the length of a test. */
export function folder(): { path: string; remove: () => void } {
  const path = mkdtempSync(join(tmpdir(), 'strata-viz-'));
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) };
}

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

interface Violation {
  readonly id: string;
  readonly impact: string;
  readonly nodes: readonly { readonly html: string; readonly failureSummary: string }[];
}

/** What axe-core finds that is serious or critical. */
export async function violations(page: Page): Promise<string[]> {
  // The page's CSP has no eval; what a test evaluates is outside of it.
  await page.evaluate(axe);
  const found = await page.evaluate(async () => {
    const run = (window as unknown as { axe: { run(): Promise<{ violations: Violation[] }> } }).axe;
    return (await run.run()).violations.filter((v) => v.impact === 'serious' || v.impact === 'critical');
  });
  return found.map((v) => `${v.id} (${v.impact}): ${v.nodes.map((n) => n.html).slice(0, 3).join(' | ')}`);
}
