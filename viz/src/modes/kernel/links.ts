// What belongs together in a kernel: a UOp, the lines of source that came from it, the loop around it, its access.
import type { Hover } from '../../hover';
import type { KernelParts } from './answer';

export interface Lit {
  readonly ops: ReadonlySet<number>;
  readonly lines: ReadonlySet<number>;
  /** LOOPs, by their rows. */
  readonly loops: ReadonlySet<number>;
  /** Rows of a loop that is pointed at, both ends with it. */
  readonly body: readonly [number, number] | null;
}
const NONE: Lit = { ops: new Set(), lines: new Set(), loops: new Set(), body: null };

/** Which lines came from a UOp, and where each loop ends. */
export class Links {
  private readonly linesOf = new Map<number, number[]>();
  private readonly ends = new Map<number, number>();

  constructor(private readonly kernel: Pick<KernelParts, 'ops' | 'lines'>) {
    kernel.lines.forEach((ops, line) => ops.forEach((op) => this.linesOf.set(op, [...(this.linesOf.get(op) ?? []), line])));
    kernel.ops.forEach((op, row) => {
      const begin = op.srcs[0];
      if (op.op === 'ENDLOOP' && begin !== undefined) this.ends.set(begin, row);
    });
  }

  /** The rows of a loop: its LOOP and its ENDLOOP. */
  bodyOf(loop: number): [number, number] {
    return [loop, this.ends.get(loop) ?? this.kernel.ops.length - 1];
  }

  lit(at: Hover | null): Lit {
    if (at === null) return NONE;
    if (at.op !== undefined) return this.ofOps([at.op], false);
    if (at.line !== undefined) return this.ofOps(this.kernel.lines[at.line] ?? [], false, at.line);
    if (at.loop !== undefined) return this.ofOps([at.loop], true);
    return NONE;
  }

  private ofOps(ops: readonly number[], whole: boolean, line?: number): Lit {
    const lines = new Set(ops.flatMap((op) => this.linesOf.get(op) ?? []));
    if (line !== undefined) lines.add(line);
    const loops = new Set<number>();
    for (const op of ops) this.loopsAround(op).forEach((loop) => loops.add(loop));
    return { ops: new Set(ops), lines, loops, body: whole && ops[0] !== undefined ? this.bodyOf(ops[0]) : null };
  }

  /** The loop that a UOp is in, innermost; of a LOOP, itself; of its end, too. */
  private loopsAround(op: number): number[] {
    const row = this.kernel.ops[op];
    if (row === undefined) return [];
    if (row.op === 'LOOP') return [op];
    if (row.op === 'ENDLOOP') return row.srcs.slice(0, 1);
    return row.loop === null ? [] : [row.loop];
  }
}
