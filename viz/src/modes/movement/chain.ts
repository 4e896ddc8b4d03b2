// A chain of movement operations, as the box spells it and as requests say it.
import type { Request } from '../../ask';

export type Op = readonly [name: string, argument: unknown];

/** The operations, with an argument that does something for a shape. */
export const MOVEMENTS: Readonly<Record<string, { about: string; example: (shape: readonly number[]) => unknown }>> = {
  reshape: { about: 'the same elements in another shape', example: (s) => [s.reduce((a, b) => a * b, 1)] },
  permute: { about: 'reorder the dimensions', example: (s) => s.map((_, i) => s.length - 1 - i) },
  expand: { about: 'repeat dimensions of size 1', example: (s) => s.map((n) => (n === 1 ? 3 : n)) },
  pad: { about: 'add masked elements', example: (s) => s.map((_, i) => (i === s.length - 1 ? [1, 1] : [0, 0])) },
  shrink: { about: 'keep a part', example: (s) => s.map((n, i) => (i === 0 && n > 1 ? [1, n] : [0, n])) },
  flip: { about: 'reverse dimensions', example: (s) => [Math.max(0, s.length - 1)] },
  stride: { about: 'every n-th element', example: (s) => s.map((_, i) => (i === s.length - 1 ? 2 : 1)) },
};

/** Python's spelling: (1,) and ((1, 1), (0, 2)). */
export function tuple(value: unknown): string {
  if (!Array.isArray(value)) return String(value);
  const items = value.map(tuple);
  return items.length === 1 ? `(${items[0]},)` : `(${items.join(', ')})`;
}

export const opText = ([name, argument]: Op): string => `.${name}(${tuple(argument)})`;

export interface Chain {
  /** The start, as the box may spell it. */
  readonly start: string;
  readonly declarations: string;
  /** The request for the start alone. */
  readonly base: Request;
  readonly ops: readonly Op[];
}

export const chainText = (chain: Chain, ops: readonly Op[] = chain.ops): string => chain.declarations + chain.start + ops.map(opText).join('');

/** The chain that a `view` request says; `text` is how the engine prints its start where that is no shape. */
export function chainOf(request: Request, text: string): Chain {
  const { ops, shape, vars } = request as { ops?: readonly Op[]; shape?: readonly unknown[]; vars?: Record<string, [number, number]> };
  const { ops: _, ...base } = request;
  const declarations = Object.entries(vars ?? {}).map(([name, [least, most]]) => `${name}: ${least}..${most}; `);
  return {
    start: shape === undefined ? text : `ShapeTracker.from_shape(${tuple(shape)})`,
    declarations: declarations.join(''),
    base,
    ops: ops ?? [],
  };
}

/** The request for the state after `count` operations, its Views as the operations left them. */
export const stateRequest = (chain: Chain, count: number, more: Request = {}): Request => ({ ...chain.base, ops: chain.ops.slice(0, count), simplify: false, ...more });
