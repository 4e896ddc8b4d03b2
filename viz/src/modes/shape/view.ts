// One View as boxes: what is typed into them rewrites the box's text, and a text in that spelling is read back without the engine, so
// that the boxes never wait for it. Values are texts: over variables they may be expressions.
import type { ViewOfStack } from '../../answers';
import { tuple } from '../movement/chain';

export interface Boxes {
  /** Declarations of variables, as they stand in the text. */
  readonly head: string;
  readonly dims: readonly Dim[];
  readonly offset: string;
  readonly masked: boolean;
}
export interface Dim {
  readonly size: string;
  readonly stride: string;
  /** Half-open; of all elements where nothing is masked. */
  readonly begin: string;
  readonly end: string;
}

const INTEGER = /^\s*[+-]?\d+\s*$/;
export const isInteger = (text: string): boolean => INTEGER.test(text);

/** What is wrong with a value; null where it is one. */
export function problemOf(text: string, symbolic: boolean, least = -Number.MAX_SAFE_INTEGER): string | null {
  if (!isInteger(text)) return symbolic && text.trim() !== '' && !/[;,]/.test(text) ? null : `'${text}' is no whole number`;
  const n = Number(text);
  if (!Number.isSafeInteger(n)) return `${text} has more digits than this page counts with`;
  return n < least ? `${n} is less than ${least}` : null;
}

/** A number without blanks, plus sign and leading zeros. */
export const tidy = (text: string): string => (isInteger(text) ? String(Number(text)).replace('-0', '0') : text.trim());

export function boxesOf(view: ViewOfStack, head = ''): Boxes {
  const dims = view.shape.map((n, d): Dim => {
    const [begin, end] = view.mask?.[d] ?? [0, n];
    return { size: String(n), stride: String(view.strides[d] ?? 0), begin: String(begin), end: String(end) };
  });
  return { head, dims, offset: String(view.offset), masked: view.mask !== null };
}

export function textOf(boxes: Boxes): string {
  const { dims, offset } = boxes;
  const parts = [`shape=${tuple(dims.map((d) => d.size))}`, `strides=${tuple(dims.map((d) => d.stride))}`];
  if (offset !== '0') parts.push(`offset=${offset}`);
  if (boxes.masked) parts.push(`mask=${tuple(dims.map((d) => [d.begin, d.end]))}`);
  return `${boxes.head}View(${parts.join(', ')})`;
}

/** The boxes of a text as `textOf` writes it, with bounds of variables before it; null for other texts. */
export function readBoxes(text: string): Boxes | null {
  const found = /^((?:\s*[A-Za-z_]\w*\s*:[^;]*;)*\s*)View\((.*)\)\s*$/s.exec(text);
  if (found === null) return null;
  const [, head = '', inside = ''] = found;
  const values = new Map<string, string>();
  for (const part of items(inside) ?? ['?']) {
    const named = /^\s*(shape|strides|offset|mask|contiguous)\s*=(.*)$/s.exec(part);
    if (named === null || values.has(named[1] ?? '')) return null;
    values.set(named[1] ?? '', (named[2] ?? '').trim());
  }
  const shape = tupleItems(values.get('shape') ?? ''), strides = tupleItems(values.get('strides') ?? '');
  const mask = values.get('mask') ?? 'None';
  const pairs = mask === 'None' ? null : tupleItems(mask)?.map(tupleItems);
  if (shape === null || strides === null || pairs === undefined || strides.length !== shape.length) return null;
  if (pairs !== null && (pairs.length !== shape.length || pairs.some((p) => p?.length !== 2))) return null;
  const dims = shape.map((size, d): Dim => ({ size, stride: strides[d] ?? '0', begin: pairs?.[d]?.[0] ?? '0', end: pairs?.[d]?.[1] ?? size }));
  return { head, dims, offset: values.get('offset') ?? '0', masked: pairs !== null };
}

/** What stands between commas outside of brackets; null where brackets do not match or an item is empty. */
function items(text: string): string[] | null {
  const out = [''];
  let depth = 0;
  for (const c of text) {
    depth += c === '(' || c === '[' ? 1 : c === ')' || c === ']' ? -1 : 0;
    if (depth < 0) return null;
    if (c === ',' && depth === 0) out.push('');
    else out[out.length - 1] += c;
  }
  const trimmed = out.map((item) => item.trim());
  if (trimmed.at(-1) === '') trimmed.pop();
  return depth === 0 && !trimmed.includes('') ? trimmed : null;
}

function tupleItems(text: string): string[] | null {
  const inside = /^\((.*)\)$/s.exec(text.trim());
  return inside === null ? null : items(inside[1] ?? '');
}

// --- edits ---

const changed = (boxes: Boxes, d: number, dim: Partial<Dim>): Boxes => ({ ...boxes, dims: boxes.dims.map((old, i) => (i === d ? { ...old, ...dim } : old)) });

/** The mask is left out where it leaves nothing out. */
function settled(boxes: Boxes): Boxes {
  return { ...boxes, masked: boxes.dims.some((d) => d.begin !== '0' || d.end !== d.size) };
}

/** A mask's end that was the old size is the new one; it is never more than it. */
export function withSize(boxes: Boxes, d: number, size: string): Boxes {
  const old = boxes.dims[d];
  if (old === undefined) return boxes;
  const numbers = [size, old.end, old.begin].every(isInteger);
  const end = old.end === old.size || (numbers && Number(old.end) > Number(size)) ? size : old.end;
  const begin = numbers && Number(old.begin) > Number(end) ? end : old.begin;
  return settled(changed(boxes, d, { size, end, begin }));
}
export const withStride = (boxes: Boxes, d: number, stride: string): Boxes => changed(boxes, d, { stride });
export const withMask = (boxes: Boxes, d: number, ends: { begin?: string; end?: string }): Boxes => settled(changed(boxes, d, ends));
export const withOffset = (boxes: Boxes, offset: string): Boxes => ({ ...boxes, offset });
export const unmasked = (boxes: Boxes): Boxes => ({ ...boxes, masked: false, dims: boxes.dims.map((d) => ({ ...d, begin: '0', end: d.size })) });

/** A new dimension of size 2: outside, one copy of what is there behind the other; inside, a step of 1. */
export function withDim(boxes: Boxes, where: 'outside' | 'inside'): Boxes {
  const span = boxes.dims.reduce((sum, d) => sum + (Number(d.size) - 1) * Math.abs(Number(d.stride)), 1);
  const dim = (stride: number): Dim => ({ size: '2', stride: String(stride), begin: '0', end: '2' });
  if (where === 'inside') return { ...boxes, dims: [...boxes.dims, dim(1)] };
  return { ...boxes, dims: [dim(Number.isSafeInteger(span) ? Math.max(0, span) : 0), ...boxes.dims] };
}
export const withoutDim = (boxes: Boxes, d: number): Boxes => settled({ ...boxes, dims: boxes.dims.filter((_, i) => i !== d) });

/** Dimension `d` in the place of the one `by` further. */
export function moved(boxes: Boxes, d: number, by: number): Boxes {
  const dims = [...boxes.dims];
  const [mine] = dims.splice(d, 1);
  if (mine === undefined || d + by < 0 || d + by > dims.length) return boxes;
  dims.splice(d + by, 0, mine);
  return { ...boxes, dims };
}

/** The strides of rows after rows, without gaps; of dimensions that are numbers. */
export function rowMajor(boxes: Boxes): Boxes {
  let step = 1;
  const dims = [...boxes.dims].reverse().map((d): Dim => {
    const stride = String(step);
    step *= Math.max(1, Number(d.size));
    return { ...d, stride };
  });
  return { ...boxes, dims: dims.reverse() };
}

// --- as numbers ---

export interface Plain {
  readonly shape: readonly number[];
  readonly strides: readonly number[];
  readonly offset: number;
  readonly mask: readonly (readonly [number, number])[];
}

/** The numbers of the engine's View; null where one is symbolic. */
export function plain(view: ViewOfStack): Plain | null {
  const all = [...view.shape, ...view.strides, view.offset, ...(view.mask ?? []).flat()];
  if (!all.every((n) => Number.isSafeInteger(n))) return null;
  const shape = view.shape.map(Number);
  return { shape, strides: view.strides.map(Number), offset: Number(view.offset), mask: view.mask?.map(([a, b]) => [Number(a), Number(b)] as const) ?? shape.map((n) => [0, n] as const) };
}
