// A kernel's buffers as grids: their sizes, and the shapes that the text or the loops say.
import { sizeOf } from '../../draw/field';
import type { KernelAnswer } from '../kernel/answer';
import type { FilmBuffer } from './cache';
import type { Accesses } from './replay';

export interface Shown extends FilmBuffer {
  readonly name: string;
  readonly dtype: string;
  readonly shape: readonly number[];
}

/** Bytes of an element in memory. */
export const bytesOf = (dtype: string): number => (dtype === 'bool' ? 1 : Math.max(1, Number(/\d+/.exec(dtype)?.[0] ?? 32) / 8));

/** The answer to `order`. */
export interface OrderAnswer {
  readonly buffers: readonly { readonly name: string; readonly dtype: string; readonly size: number }[];
  readonly values: Readonly<Record<string, number>>;
  readonly kernels: readonly { readonly name: string; readonly accesses: number }[];
  readonly order: unknown;
}

/** What is told of each buffer that is accessed. */
export function buffersOf(kernel: KernelAnswer, order: OrderAnswer, text: string, accesses: Accesses): Shown[] {
  const used = new Set(accesses.slot);
  return order.buffers.flatMap(({ name, dtype, size }, slot) => {
    if (!used.has(slot)) return [];
    const shape = (declared(text, name) ?? outputShape(kernel)).map((n) => (Number.isFinite(n) ? n : size));
    return [{ slot, size, bytes: bytesOf(dtype), name, dtype, shape: shape.length > 0 && sizeOf(shape) === size ? shape : [size] }];
  });
}

/** The sizes behind a name in the text: `a: f32[8,4]`. */
function declared(text: string, name: string): number[] | null {
  const found = new RegExp(`(?:^|[;\\n])\\s*${name}\\s*:\\s*\\w+\\s*\\[([^\\]]*)\\]`).exec(text);
  return found === null ? null : (found[1] ?? '').split(',').map(Number);
}

/** The dimensions of the stores, from the axes that run over them. */
function outputShape(kernel: KernelAnswer): number[] {
  const out: number[] = [];
  for (const axis of kernel.loops)
    if (axis.kind === 'output') axis.dims.forEach((dim, i) => (out[dim] = Number(axis.sizes[i])));
  return [...out].map((n) => n ?? 1);
}
