// A layout as a picture: mode 0 down, mode 1 across, further modes as panels; the field holds indices, so that each cell knows its own.
import type { Field } from '../../draw/field';
import { coordinateIn, digitsOf, type Layout, modeSizes, rangeOf, renderTree, sizeOfTree, valueAt } from './notation';

export interface Drawn {
  readonly text: string;
  readonly layout: Layout;
  readonly sizes: readonly number[];
  readonly size: number;
  readonly least: number;
  readonly most: number;
  readonly field: Field;
  readonly names: readonly string[];
  at(index: number): number;
}

/** Tables up to here come from the engine; what is longer is evaluated where it is looked at. */
export const LONGEST_TABLE = 1 << 18;

export function drawn(text: string, layout: Layout, table: ArrayLike<number> | null): Drawn {
  const sizes = modeSizes(layout);
  const [least, most] = rangeOf(layout);
  return {
    text, layout, sizes, least, most,
    size: sizeOfTree(layout.shape),
    field: new IndexField(pictureShape(sizes)),
    names: sizes.map((_, k) => `mode ${k}`).slice(2).reverse(),
    at: table === null ? evaluated(layout) : (i) => table[i] ?? NaN,
  };
}

const MOST_KEPT = 1 << 21;

/** Values by index, kept where they are few enough to be. */
function evaluated(layout: Layout): (index: number) => number {
  const size = sizeOfTree(layout.shape);
  if (size > MOST_KEPT) return (i) => valueAt(layout, i);
  let kept: Float64Array | null = null;
  return (i) => (kept ??= Float64Array.from({ length: size }, (_, k) => valueAt(layout, k)))[i] ?? NaN;
}

/** The picture's dimensions, panels first. */
export const pictureShape = (sizes: readonly number[]): number[] =>
  sizes.length < 2 ? [...sizes] : [...sizes.slice(2).reverse(), sizes[0] ?? 1, sizes[1] ?? 1];

/** The picture's place of an index, and back. */
export function placeIn(sizes: readonly number[], index: number): number[] {
  const digits = digitsOf(sizes, index);
  return digits.length < 2 ? digits : [...digits.slice(2).reverse(), digits[0] ?? 0, digits[1] ?? 0];
}
export function indexIn(sizes: readonly number[], place: readonly number[]): number {
  if (sizes.length < 2) return place[0] ?? 0;
  const digits = [place.at(-2) ?? 0, place.at(-1) ?? 0, ...place.slice(0, -2).reverse()];
  return sizes.reduceRight((index, size, k) => index * size + (digits[k] ?? 0), 0);
}

class IndexField implements Field {
  constructor(readonly shape: readonly number[]) {}

  span(panel: number, row: number, begin: number, out: Float64Array): void {
    if (this.shape.length < 2) {
      for (let i = 0; i < out.length; ++i) out[i] = begin + i;
      return;
    }
    const [rows, cols] = [this.shape.at(-2) ?? 1, this.shape.at(-1) ?? 1];
    for (let i = 0; i < out.length; ++i) out[i] = row + rows * (begin + i + cols * panel);
  }
}

export const coordinateText = (d: Drawn, index: number): string => renderTree(coordinateIn(d.layout.shape, index));

/** Which thread has an index, and which of its values it is: one mode counts threads, the others values. */
export interface Work {
  readonly mode: number;
  readonly threads: number;
  readonly values: number;
  thread(index: number): number;
  value(index: number): number;
  index(thread: number, value: number): number;
}

export function workOf(sizes: readonly number[], wanted: number): Work {
  const mode = wanted >= 0 && wanted < sizes.length ? wanted : 0;
  const inner = sizes.slice(0, mode).reduce((a, b) => a * b, 1);
  const threads = sizes[mode] ?? 1;
  const values = sizes.reduce((a, b) => a * b, 1) / Math.max(1, threads);
  return {
    mode, threads, values,
    thread: (i) => Math.floor(i / inner) % threads,
    value: (i) => (i % inner) + inner * Math.floor(i / (inner * threads)),
    index: (t, v) => (v % inner) + inner * (t + threads * Math.floor(v / inner)),
  };
}
