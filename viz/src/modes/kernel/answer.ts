// The engine's answer to `kernel`, as docs/batch.md describes it, and how a kernel of the box is asked for.
import type { Request } from '../../ask';
import type { Size } from '../../answers';
import { param } from '../../state';

export interface KernelBuffer {
  readonly name: string;
  readonly dtype: string;
  readonly size: Size;
  readonly read: boolean;
  readonly written: boolean;
}
export interface Op {
  readonly op: string;
  readonly dtype: string;
  readonly arg: string | null;
  readonly srcs: readonly number[];
  readonly text: string;
  /** The LOOP around it, by its row. */
  readonly loop: number | null;
  /** Of a LOOP: what indices call it. */
  readonly counter?: string;
}
export interface Access {
  /** The first of `ops`: LOADs or STOREs, by their rows; null where nothing needs it. */
  readonly op: number | null;
  readonly ops: readonly number[];
  /** Null: scratch memory. */
  readonly buffer: number | null;
  readonly kind: 'load' | 'store';
  readonly index: string;
  readonly valid: string;
  readonly min: number | null;
  readonly max: number | null;
  readonly size: Size;
  readonly by: 'bounds' | 'algebra';
}
export interface Part {
  /** loop, parallel, upcast, unroll, lanes. */
  readonly kind: string;
  readonly size: Size;
}
export interface Segment {
  readonly begin: Size;
  readonly size: Size;
  readonly parts: readonly Part[];
}
export interface Axis {
  readonly axis: number;
  readonly kind: 'output' | 'reduce';
  readonly size: Size;
  /** The dimensions of the stores that it runs over, and their sizes. */
  readonly dims: readonly number[];
  readonly sizes: readonly Size[];
  readonly padded: boolean;
  readonly segments: readonly Segment[];
  readonly counters: readonly { readonly name: string; readonly op: number }[];
}
/** What `show` brings of one kernel. */
export interface KernelParts {
  readonly name: string;
  readonly axes: string;
  readonly loops: readonly Axis[];
  readonly uops: string;
  readonly ops: readonly Op[];
  readonly source: string;
  readonly lines: readonly (readonly number[])[];
  readonly proof: { readonly accesses: number; readonly by_bounds: number; readonly by_algebra: number };
  readonly accesses: readonly Access[];
}
export interface KernelAnswer extends KernelParts {
  readonly target: string;
  readonly vector_bytes: number;
  readonly buffers: readonly KernelBuffer[];
  readonly opts: readonly string[];
  /** Kernels that run before it (SPLITREDUCE, SPLITSCAN, PACK, DOT, TRIM). */
  readonly first: readonly KernelParts[];
}
/** Variables of sizes, with their bounds. */
export type Variables = Readonly<Record<string, readonly [number, number]>>;

/** Those that its UOps use; the range of threads is none of them. */
export function variablesOf(kernel: Pick<KernelParts, 'ops'>): Variables {
  const out: Record<string, readonly [number, number]> = {};
  for (const op of kernel.ops) {
    const [, name, least, most] = (op.op === 'DEFINE_VAR' && /'(\w+)', (-?\d+), (-?\d+)\)$/.exec(op.arg ?? '')) || [];
    if (name !== undefined && name !== 'begin0' && name !== 'end0') out[name] = [Number(least), Number(most)];
  }
  return out;
}

/** A value of each: what is said, or its greatest, at most 16. */
export const valuesFor = (variables: Variables, said: Readonly<Record<string, number>> = {}): Record<string, number> =>
  Object.fromEntries(Object.entries(variables).map(([name, [least, most]]) => [name, said[name] ?? Math.max(least, Math.min(16, most))]));

export interface Candidate {
  readonly opt: string;
  readonly legal: boolean;
  readonly reason?: string | null;
}

export const TARGETS = [
  ['c', 'C'],
  ['llvm', 'LLVM'],
  ['opencl', 'OpenCL'],
  ['cuda', 'CUDA'],
  ['metal', 'Metal'],
  ['wgsl', 'WGSL'],
] as const;

/** The question about the kernel of the box, with what was chosen for it. */
export function kernelRequest(text: Request, target = param('target', 'c')): Request {
  const vector = Number(param('vector'));
  return { ...text, do: 'kernel', target, opts: optsAsked(), ...(vector > 0 ? { vector_bytes: vector } : {}) };
}

/** Opts as the link says them: `auto`, `none` or a list. */
export const optsAsked = (): string => param('opts', 'auto');
