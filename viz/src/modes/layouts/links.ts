// Where an element of a result comes from: which index of A, which of B, which tile or copy.
import { digitsOf, type Layout, modeSizes, sizeOfTree } from './notation';

export interface Link {
  /** The index in A, or null where there is none. */
  a(index: number): number | null;
  b(index: number): number | null;
  /** The tile (of a divide) or the copy (of a product) that it is part of. */
  part(index: number): number | null;
  readonly parts: number;
}

const NONE = (): null => null;

/** What reaches past A is in no index of it. */
const within = (inA: ArrayLike<number>, sizeOfA: number) => (i: number): number | null => {
  const at = inA[i] ?? -1;
  return at >= 0 && at < sizeOfA ? at : null;
};

/** Of `R = A o B`, and of all divides: `inA` has R's indices in A, the same function of A's shape with values 0, 1, 2, ... */
export function composed(inA: ArrayLike<number>, sizeOfA: number): Link {
  return { a: within(inA, sizeOfA), b: (i) => i, part: NONE, parts: 0 };
}

/** Of a divide by one layout: its modes are the tile's, then the tiles'. */
export function divided(inA: ArrayLike<number>, sizeOfA: number, sizeOfTile: number): Link {
  return { a: within(inA, sizeOfA), b: (i) => i % sizeOfTile, part: (i) => Math.floor(i / sizeOfTile), parts: Math.ceil(inA.length / Math.max(1, sizeOfTile)) };
}

/** Of `logical_divide` by a list of layouts, one a mode: each mode is a tile's, then the tiles'. */
export function dividedByMode(inA: ArrayLike<number>, sizeOfA: number, sizes: readonly number[], tiles: readonly number[]): Link {
  const tile = sizes.map((_, k) => tiles[k] ?? 1);
  const digits = (i: number, of: (digit: number, size: number) => number, base: (size: number, t: number) => number): number => {
    const at = digitsOf(sizes, i);
    let out = 0;
    for (let k = sizes.length - 1; k >= 0; --k) out = out * base(sizes[k] ?? 1, tile[k] ?? 1) + of(at[k] ?? 0, tile[k] ?? 1);
    return out;
  };
  return {
    a: within(inA, sizeOfA),
    b: (i) => digits(i, (d, t) => d % t, (_, t) => t),
    part: (i) => digits(i, (d, t) => Math.floor(d / t), (size, t) => size / t),
    parts: Math.ceil(inA.length / tile.reduce((p, t) => p * t, 1)),
  };
}

/** Of all products but those mode by mode: A's indices are the fastest. */
export function product(a: Layout, b: Layout): Link {
  const size = sizeOfTree(a.shape);
  return { a: (i) => i % size, b: (i) => Math.floor(i / size), part: (i) => Math.floor(i / size), parts: sizeOfTree(b.shape) };
}

/** Of `blocked_product` (A's digits are the faster ones of each mode) and `raked_product` (B's are). */
export function productByMode(a: Layout, b: Layout, aFirst: boolean): Link {
  const rank = Math.max(modeSizes(a).length, modeSizes(b).length);
  const padded = (l: Layout): number[] => Array.from({ length: rank }, (_, k) => modeSizes(l)[k] ?? 1);
  const ofA = padded(a), ofB = padded(b);
  const interleaved = ofA.flatMap((size, k) => (aFirst ? [size, ofB[k] ?? 1] : [ofB[k] ?? 1, size]));
  const pick = (i: number, odd: boolean, sizes: readonly number[]): number => {
    const digits = digitsOf(interleaved, i);
    let out = 0;
    for (let k = rank - 1; k >= 0; --k) out = out * (sizes[k] ?? 1) + (digits[2 * k + (odd ? 1 : 0)] ?? 0);
    return out;
  };
  const inB = (i: number): number => pick(i, aFirst, ofB);
  return { a: (i) => pick(i, !aFirst, ofA), b: inB, part: inB, parts: sizeOfTree(b.shape) };
}

/** Of inverses and the nullspace: the values are indices in A. */
export const inverse = (values: ArrayLike<number>, sizeOfA: number): Link => ({ a: within(values, sizeOfA), b: NONE, part: NONE, parts: 0 });

/** Of `coalesce`: every index is its own. */
export const same: Link = { a: (i) => i, b: NONE, part: NONE, parts: 0 };
