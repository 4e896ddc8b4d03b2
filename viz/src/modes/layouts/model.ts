// What the mode shows: the call in the box, its operands and its result, and what a user chose.
import { useMemo, useRef } from 'preact/hooks';
import type { LayoutAnswer } from '../../answers';
import { type Asked, type Failure, type Request, useAnswer } from '../../ask';
import { numbersOf } from '../../draw/field';
import { boxText, read } from '../../reading';
import { param, update, whole } from '../../state';
import type { Machine } from './access';
import { type Call, splitArguments, splitCall } from './call';
import { drawn, type Drawn, LONGEST_TABLE } from './drawn';
import { type Operation, operation } from './functions';
import { composed, divided, dividedByMode, inverse, type Link, product, productByMode, same } from './links';
import { compact, parseLayout, renderLayout, sizeOfTree } from './notation';
import { parseSwizzle, plainText, type Swizzling } from './swizzle';

export interface Model {
  readonly call: Call;
  readonly op: Operation;
  readonly result: Drawn | null;
  /** The result as the engine says it; a symbolic one is not drawn. */
  readonly text: string | null;
  readonly value: unknown;
  readonly error: Failure | null;
  readonly pending: boolean;
  readonly a: Drawn | null;
  readonly b: Drawn | null;
  readonly link: Link | null;
  readonly swizzling: Swizzling | null;
  /** The swizzle is what the box says: it is set there. */
  readonly swizzleInBox: boolean;
}

const alone = (text: string | null, vars: unknown): Request | null =>
  text === null ? null : { do: 'layout', fn: 'crd2idx', args: [text], ...(vars === undefined ? {} : { vars }), table: false };

/** A layout's text, drawn. Its table comes from the engine where it is short. */
function useDrawn(text: string | null): Drawn | null {
  const layout = useMemo(() => (text === null ? null : parseLayout(text)), [text]);
  const short = layout !== null && sizeOfTree(layout.shape) <= LONGEST_TABLE;
  const asked = useAnswer<LayoutAnswer>(short ? { do: 'layout', fn: 'crd2idx', args: [text] } : null);
  return useMemo(() => {
    if (text === null || layout === null) return null;
    const table = short && !asked.pending && asked.value?.layout === text ? numbersOf(asked.value.table, asked.arrays, null) : null;
    return drawn(text, layout, table);
  }, [text, layout, asked.value, asked.pending]);
}

/** An operand: as the engine prints it. */
function useOperand(text: string | null, vars: unknown): Drawn | null {
  const asked = useAnswer<LayoutAnswer>(alone(text, vars));
  return useDrawn(text === null ? null : (asked.value?.layout ?? null));
}

const isTiler = (text: string): boolean => /^\s*[(<].*[)>]\s*$/s.test(text) && splitTop(text) === null;
/** The two sides of a layout's colon; null where there is none outside of brackets. */
function splitTop(text: string): number | null {
  let depth = 0;
  for (let i = 0; i < text.length; ++i) {
    if ('(<'.includes(text[i] ?? '')) ++depth;
    else if (')>'.includes(text[i] ?? '')) --depth;
    else if (text[i] === ':' && depth === 0) return i;
  }
  return null;
}

/** The sizes of a tiler's layouts. */
export function tilerSizes(text: string): number[] | null {
  if (!isTiler(text)) return null;
  return splitArguments(text.trim().slice(1, -1)).map((item) => {
    const layout = parseLayout(item);
    return layout === null ? Number(item) : sizeOfTree(layout.shape);
  });
}

export function useModel(): Model {
  const call = splitCall(boxText());
  const { reading, error: unread } = read.value;
  // A call that is refused is asked for itself: its operands are drawn all the same.
  const request: Request | null = unread !== null ? { do: 'layout', fn: call.fn, args: call.args, ...(reading === null ? {} : { vars: reading.vars }) } : reading?.kind === 'layout' ? reading.request : null;
  const fn = typeof request?.['fn'] === 'string' ? request['fn'] : '';
  const args = (request?.['args'] as (string | number)[] | undefined)?.map(String) ?? [];
  const vars = request?.['vars'];
  const op = operation(fn) ?? operation('') as Operation;
  const isSwizzle = op.family === 'swizzle', swizzleText = isSwizzle ? args.join() : param('swz');
  const swizzling = parseSwizzle(swizzleText);
  const asked: Asked<LayoutAnswer> = useAnswer<LayoutAnswer>(request === null ? null : fn === '' ? alone(args[0] ?? '', vars) : isSwizzle ? request : { ...request, table: false });
  // A swizzle's picture, too, is the one before until the engine has accepted the new one: its period may be any power of two.
  const accepted = useRef<string | null>(null);
  if (isSwizzle && !asked.pending) accepted.current = swizzling === null || asked.error !== null ? null : plainText(swizzling);
  const text = isSwizzle ? accepted.current : (asked.value?.layout ?? null);
  const isValue = op.family === 'value';
  const a = useOperand(op.args[0] === 'A' && fn !== '' ? (args[0] ?? null) : null, vars);
  const b = useOperand(op.args[1] === 'B' && !isTiler(args[1] ?? '') ? (args[1] ?? null) : null, vars);
  const result = useDrawn(isValue ? null : text);
  const link = useLink(op, args, a, b, result);
  return {
    call, op, result, a, b, link, swizzling,
    text: isValue ? null : text,
    value: isValue ? asked.value?.value : undefined,
    error: asked.error, pending: asked.pending, swizzleInBox: isSwizzle,
  };
}

/** The link between the result and its operands; composition and the divides are asked again, of A's indices. */
function useLink(op: Operation, args: readonly string[], a: Drawn | null, b: Drawn | null, result: Drawn | null): Link | null {
  const indices = op.family === 'divide' || op.fn === 'composition';
  const short = a !== null && result !== null && result.size <= LONGEST_TABLE;
  const asked = useAnswer<LayoutAnswer>(indices && short ? { do: 'layout', fn: op.fn, args: [renderLayout(compact(a.layout)), args[1] ?? ''] } : null);
  return useMemo(() => {
    if (a === null || result === null || !short) return null;
    const inA = numbersOf(asked.value?.table, asked.arrays, null);
    if (indices) return inA === null || inA.length !== result.size ? null : ofIndices(op, args, a.size, b, result, inA);
    if (op.fn === 'coalesce') return same;
    if (op.fn === 'blocked_product' || op.fn === 'raked_product') return b === null ? null : productByMode(a.layout, b.layout, op.fn === 'blocked_product');
    if (op.family === 'product') return b === null ? null : product(a.layout, b.layout);
    if (op.family === 'inverse') return inverse(Float64Array.from({ length: result.size }, (_, i) => result.at(i)), a.size);
    return null;
  }, [op, args.join(), a, b, result, asked.value, asked.pending]);
}

function ofIndices(op: Operation, args: readonly string[], sizeOfA: number, b: Drawn | null, result: Drawn, inA: ArrayLike<number>): Link {
  const tiles = tilerSizes(args[1] ?? '');
  if (op.fn === 'composition') return composed(inA, sizeOfA);
  if (tiles === null) return divided(inA, sizeOfA, b?.size ?? result.sizes[0] ?? 1);
  return op.fn === 'logical_divide' ? dividedByMode(inA, sizeOfA, result.sizes, tiles) : divided(inA, sizeOfA, tiles.reduce((p, t) => p * t, 1));
}

// --- what a user chose, all of it in the link ---

const MACHINE = { bytes: 4, vector: 1, warp: 32, banks: 32, bank: 4, sector: 32, cache: 64, base: 0 } as const;
export type Setting = keyof typeof MACHINE;
const MOST: Record<Setting, number> = { bytes: 64, vector: 64, warp: 1024, banks: 1024, bank: 64, sector: 4096, cache: 4096, base: 1 << 20 };
export const limits = (name: Setting): [number, number] => [name === 'base' ? 0 : 1, MOST[name]];

export function setting(name: Setting): number {
  return whole(name, MACHINE[name], ...limits(name));
}
export const set = (name: Setting, value: number): void => update({ [name]: value === MACHINE[name] ? undefined : String(value) }, name);

export const machine = (): Machine => ({
  bytes: setting('bytes'), vector: setting('vector'), warp: setting('warp'), banks: setting('banks'), bankBytes: setting('bank'),
  sectorBytes: setting('sector'), lineBytes: setting('cache'), base: setting('base'),
});

