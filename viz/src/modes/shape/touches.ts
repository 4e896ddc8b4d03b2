// How often a View comes to an address, without a list of its elements: a strip of memory shows any part of 2^40 elements.
import type { Plain } from './view';

interface Step {
  readonly stride: number;
  readonly count: number;
}

/** The least and the largest address of the elements that are not masked; null where there are none. */
export function rangeOf(view: Plain): readonly [number, number] | null {
  let least = view.offset, most = view.offset;
  for (let d = 0; d < view.shape.length; ++d) {
    const [begin, end] = view.mask[d] ?? [0, 0];
    if (end <= begin) return null;
    const stride = view.strides[d] ?? 0;
    least += stride * (stride > 0 ? begin : end - 1);
    most += stride * (stride > 0 ? end - 1 : begin);
  }
  return [least, most];
}

const MOST_WORK = 20_000;

/** How many elements have address `address`; NaN where that takes too long to say, or is more than can be counted. */
export class Touches {
  private readonly steps: Step[] = [];
  /** Behind step k, the addresses that are left to go are in [0, rest[k]]. */
  private readonly rest: number[] = [];
  private readonly least: number = 0;
  private times = 1;
  private known = new Map<string, number>();
  private work = 0;

  constructor(view: Plain) {
    const range = rangeOf(view);
    if (range === null) {
      this.times = 0;
      return;
    }
    this.least = range[0];
    for (let d = 0; d < view.shape.length; ++d) {
      const [begin, end] = view.mask[d] ?? [0, 0];
      const stride = Math.abs(view.strides[d] ?? 0);
      // From the least address on, each dimension goes up.
      if (stride === 0) this.times *= end - begin;
      else if (end - begin > 1) this.steps.push({ stride, count: end - begin });
    }
    this.steps.sort((a, b) => b.stride - a.stride);
    let rest = 0;
    for (const step of [...this.steps].reverse()) {
      this.rest.unshift(rest);
      rest += step.stride * (step.count - 1);
    }
  }

  get(address: number): number {
    if (this.times === 0) return 0;
    this.work = 0;
    const count = this.times * this.ways(0, address - this.least);
    return Number.isSafeInteger(count) ? count : NaN;
  }

  private ways(k: number, left: number): number {
    const step = this.steps[k];
    if (step === undefined) return left === 0 ? 1 : 0;
    if (left < 0) return 0;
    const key = `${k},${left}`;
    const before = this.known.get(key);
    if (before !== undefined) return before;
    const from = Math.max(0, Math.ceil((left - (this.rest[k] ?? 0)) / step.stride));
    const to = Math.min(step.count - 1, Math.floor(left / step.stride));
    this.work += Math.max(0, to - from) + 1;
    if (this.work > MOST_WORK) return NaN;
    let sum = 0;
    for (let i = from; i <= to; ++i) sum += this.ways(k + 1, left - i * step.stride);
    if (this.known.size > 1 << 16) this.known.clear();
    if (!Number.isNaN(sum)) this.known.set(key, sum);
    return sum;
  }
}

/** How many lines of `elements` addresses a sorted or unsorted list comes to. */
export function linesOf(addresses: Iterable<number>, elements: number): number {
  const lines = new Set<number>();
  for (const a of addresses) if (!Number.isNaN(a)) lines.add(Math.floor(a / elements));
  return lines.size;
}
