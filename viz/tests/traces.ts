// Traces for tests: STRATA_DIGITS is the program of examples/digits.cpp.
import { execFileSync } from 'node:child_process';
import type { Page } from 'playwright-core';

export const DIGITS_TRACE = 'digits.jsonl';

/** Two epochs of the digits training, traced into a file. */
export function traceDigits(file: string): void {
  const program = process.env['STRATA_DIGITS'] ?? '../build/release/digits';
  execFileSync(program, ['--data', '../examples/data/digits.csv', '--epochs', '2', '--save', `${file}.safetensors`], { env: { ...process.env, STRATA_DISK_CACHE: '0', STRATA_VIZ: file } });
}

/** Gives the page a trace of a program that ended. */
export async function loadTrace(page: Page, file: string): Promise<void> {
  await page.setInputFiles('#trace-file', file);
  await page.waitForFunction(() => /the program ended/.test(document.querySelector('.live-head')?.textContent ?? ''), null, { timeout: 20_000 });
}
