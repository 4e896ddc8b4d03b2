// A swizzle of three numbers, by the engine's table of one period: what is above the period stays.
export interface Swizzling {
  readonly bits: number;
  readonly base: number;
  readonly shift: number;
}

/** `3,0,3`; null for what is no such text. */
export function parseSwizzle(text: string): Swizzling | null {
  const found = /^\s*(\d+)\s*,\s*(\d+)\s*,\s*(-?\d+)\s*$/.exec(text);
  return found === null ? null : { bits: Number(found[1]), base: Number(found[2]), shift: Number(found[3]) };
}

export const writeSwizzle = (s: Swizzling): string => `${s.bits},${s.base},${s.shift}`;
export const period = (s: Swizzling): number => 2 ** (s.bits + s.base + Math.abs(s.shift));

/** The layout in which a swizzle alone is looked at: a row for each value of the bits that are moved. */
export function plainText(s: Swizzling): string {
  const rows = 2 ** s.bits, cols = period(s) / rows;
  return s.shift >= 0 ? `(${rows},${cols}):(${cols},1)` : `(${cols},${rows}):(${rows},1)`;
}

/** The address after it. */
export const swizzled = (table: ArrayLike<number>, address: number): number => {
  const low = address % table.length;
  return address - low + (table[low] ?? low);
};
