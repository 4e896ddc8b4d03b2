// What is pointed at, as indices of the result, of A and of B: each picture shows its own side.
import { hover } from '../../hover';
import type { Machine } from './access';
import { type Drawn, indexIn, placeIn, type Work } from './drawn';
import type { Model } from './model';
import { lineOf } from './shades';

export interface Pointed {
  readonly from: string;
  readonly result: number | null;
  readonly a: number | null;
  readonly b: number | null;
  readonly address: number | null;
  readonly threads: readonly number[];
  readonly values: readonly [number, number];
  readonly cacheLine: number | null;
}

/** Pictures whose cells are the result's. */
export const RESULTS = ['result', 'before', 'after', 'table'];

export function pointed(m: Model): Pointed | null {
  const at = hover.value;
  if (at === null) return null;
  const place = at.coordinate ?? null;
  const of = (d: Drawn | null, from: string): number | null => (d !== null && at.from === from && place !== null ? indexIn(d.sizes, place) : null);
  const result = m.result !== null && RESULTS.includes(at.from) && place !== null ? indexIn(m.result.sizes, place) : null;
  return {
    from: at.from, result,
    a: result === null ? of(m.a, 'operand-a') : (m.link?.a(result) ?? null),
    b: result === null ? of(m.b, 'operand-b') : (m.link?.b(result) ?? null),
    address: at.address ?? null,
    threads: at.threads ?? (at.thread === undefined || result !== null ? [] : [at.thread]),
    values: at.values ?? [0, Infinity],
    cacheLine: at.cacheLine ?? null,
  };
}

/** Whether a cell of the result is meant by what is pointed at elsewhere. */
export function isMeant(m: Model, p: Pointed, index: number, address: number, work: Work, machine: Machine): boolean {
  if (p.from === 'operand-a') return m.link !== null && p.a !== null && m.link.a(index) === p.a;
  if (p.from === 'operand-b') return m.link !== null && p.b !== null && m.link.b(index) === p.b;
  if (p.cacheLine !== null) return lineOf(address, machine) === p.cacheLine;
  if (p.threads.length > 0) return p.threads.includes(work.thread(index)) && work.value(index) >= p.values[0] && work.value(index) <= p.values[1];
  return p.address !== null && p.address === address;
}

/** `0–3 8 10–11` */
export function runs(numbers: readonly number[]): string {
  const out: [number, number][] = [];
  for (const n of [...numbers].sort((a, b) => a - b)) {
    const last = out.at(-1);
    if (last !== undefined && n <= last[1] + 1) last[1] = n;
    else out.push([n, n]);
  }
  return out.map(([a, b]) => (a === b ? `${a}` : `${a}–${b}`)).join(' ');
}

/** The cell of `index`, to be marked. */
export const marks = (d: Drawn, index: number | null) => ({ address: null, coordinate: index === null || index >= d.size ? null : placeIn(d.sizes, index) });
