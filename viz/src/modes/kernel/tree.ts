// A kernel's loops as a tree: LOOPs inside of each other, and under the innermost of an axis what it does at once.
import type { Axis, KernelParts, Op, Part } from './answer';

export interface LoopNode {
  /** loop, parallel, reduce, scratch; of what has no loop: upcast, unroll, lanes. */
  readonly kind: string;
  readonly name: string;
  readonly size: string;
  readonly axis: number | null;
  /** Its LOOP (or SPECIAL), by its row; of what has none, that of the loop around it. */
  readonly op: number | null;
  readonly isLoop: boolean;
  readonly inside: LoopNode[];
}

export const ABOUT_KINDS: Readonly<Record<string, string>> = {
  loop: 'one iteration after another',
  parallel: 'threads share its iterations',
  reduce: 'its iterations are added into one value',
  scratch: 'fills scratch memory',
  upcast: 'at once, in registers',
  unroll: 'written out, into one accumulator',
  lanes: 'one vector',
};

const isLoop = (op: Op): boolean => op.op === 'LOOP' || op.op === 'SPECIAL';
/** Parts that are no loops of their own. */
const isWritten = (part: Part): boolean => part.kind !== 'loop' && part.kind !== 'parallel' && part.size !== 1;

export function treeOf(kernel: KernelParts): LoopNode[] {
  const roots: LoopNode[] = [];
  const made = new Map<number, LoopNode>();
  let instances: LoopNode | null = null;
  kernel.ops.forEach((op, row) => {
    if (!isLoop(op)) return;
    const node = nodeOf(kernel, row);
    made.set(row, node);
    const around = op.loop === null ? (instances?.inside ?? roots) : (made.get(op.loop)?.inside ?? roots);
    around.push(node);
    if (op.op === 'SPECIAL') instances = node;
  });
  for (const axis of kernel.loops) addWritten(axis, roots, made);
  return roots;
}

function nodeOf(kernel: KernelParts, row: number): LoopNode {
  const axis = kernel.loops.find((a) => a.counters.some((c) => c.op === row)) ?? null;
  const op = kernel.ops[row] as Op;
  if (op.op === 'SPECIAL') {
    const shared = kernel.loops.find((a) => a.segments.some((s) => s.parts.some((p) => p.kind === 'parallel')));
    const [, name, size] = /'(\w+)', \d+, (.*)\)$/.exec(op.arg ?? '') ?? [];
    return { kind: 'parallel', name: name ?? '', size: size ?? '', axis: shared?.axis ?? null, op: row, isLoop: true, inside: [] };
  }
  const kind = axis === null ? 'scratch' : isShared(axis, row) ? 'parallel' : axis.kind === 'reduce' ? 'reduce' : 'loop';
  return { kind, name: op.counter ?? '', size: tripCountOf(kernel, row, axis), axis: axis?.axis ?? null, op: row, isLoop: true, inside: [] };
}

/** From its ends where these are numbers, else what the axis says of its loop: iterations that threads share, or a symbolic size. */
export function tripCountOf(kernel: KernelParts, row: number, axis: Axis | null): string {
  if (axis !== null && isShared(axis, row)) return String(axis.segments[0]?.parts[0]?.size);
  const [begin, end] = (kernel.ops[row]?.srcs ?? []).map((src) => numberOf(kernel.ops[src]));
  if (begin !== undefined && end !== undefined) return String(end - begin);
  const part = axis?.segments.flatMap((s) => s.parts).find((p) => typeof p.size === 'string');
  return part === undefined ? '?' : String(part.size).replace(/^\((.*)\)$/, '$1');
}

/** Whether threads share the iterations of this loop: the outermost of its axis. */
const isShared = (axis: Axis, row: number): boolean => axis.counters[0]?.op === row && axis.segments[0]?.parts[0]?.kind === 'parallel';

const numberOf = (op: Op | undefined): number | undefined => (op?.op === 'CONST' && /^-?\d+$/.test(op.arg ?? '') ? Number(op.arg) : undefined);

function addWritten(axis: Axis, roots: LoopNode[], made: ReadonlyMap<number, LoopNode>): void {
  const innermost = axis.counters.flatMap(({ op }) => {
    const node = made.get(op);
    return node === undefined || hasAxis(node.inside, axis.axis) ? [] : [node];
  });
  for (const segment of axis.segments) {
    const written = segment.parts.filter(isWritten);
    if (written.length === 0) continue;
    const tripCount = segment.parts.filter((p) => !isWritten(p)).at(-1)?.size ?? 1;
    const homes = innermost.filter((node) => axis.segments.length === 1 || node.size === String(tripCount));
    if (homes.length === 0) addAll(written, axis, homeOf(axis, roots));
    for (const home of homes) addAll(written, axis, home);
  }
}

const hasAxis = (nodes: readonly LoopNode[], axis: number): boolean => nodes.some((n) => n.isLoop && (n.axis === axis || hasAxis(n.inside, axis)));

/** Where an axis without a loop belongs: in the innermost of the loops of outputs. */
function homeOf(axis: Axis, roots: LoopNode[]): LoopNode | LoopNode[] {
  let home: LoopNode | LoopNode[] = roots;
  for (;;) {
    const list: readonly LoopNode[] = Array.isArray(home) ? home : home.inside;
    const next: LoopNode | undefined = list.find((n) => n.isLoop && (n.kind === 'loop' || n.kind === 'parallel' || (axis.kind === 'reduce' && n.kind === 'reduce')));
    if (next === undefined) return home;
    home = next;
  }
}

function addAll(parts: readonly Part[], axis: Axis, home: LoopNode | LoopNode[]): void {
  const list = Array.isArray(home) ? home : home.inside;
  const nodes = parts.map((p): LoopNode => ({ kind: p.kind, name: '', size: String(p.size), axis: axis.axis, op: Array.isArray(home) ? null : home.op, isLoop: false, inside: [] }));
  const place = list.findIndex((n) => n.isLoop);
  list.splice(place < 0 ? list.length : place, 0, ...nodes);
}

/** The tree as lines, each with its depth. */
export function flat(nodes: readonly LoopNode[], depth = 0): { node: LoopNode; depth: number }[] {
  return nodes.flatMap((node) => [{ node, depth }, ...flat(node.inside, depth + 1)]);
}
