// Which iteration each loop is in at an access. UOps are walked as they run, each access being the next of the film. Where accesses have
// a condition, or loops have ends that are no numbers, the walk does not know, and nothing is said.
import type { KernelParts, Op } from '../kernel/answer';
import type { Accesses } from './replay';

/** The accesses of one kernel. */
export type OneRun = Pick<Accesses, 'count' | 'op'>;

export class Iterations {
  /** `list` has an iteration for each access and each loop, -1 where the access is outside of it. */
  constructor(
    private readonly loops: ReadonlyMap<number, number>,
    private readonly list: Int32Array,
  ) {}

  /** The iteration of a LOOP, by its row, at an access; from 0. */
  iteration(loop: number, access: number): number | null {
    const place = this.loops.get(loop);
    const iteration = place === undefined ? -1 : (this.list[access * this.loops.size + place] ?? -1);
    return iteration < 0 ? null : iteration;
  }
}

const MOST = 1 << 24; // numbers in the list

/** Null where the UOps do not say it. */
export function iterationsOf(kernel: Pick<KernelParts, 'ops' | 'loops'>, accesses: OneRun, values: Readonly<Record<string, number>> = {}): Iterations | null {
  const loops = new Map<number, number>();
  kernel.ops.forEach((op, row) => (op.op === 'LOOP' ? loops.set(row, loops.size) : undefined));
  if (loops.size === 0 || loops.size * accesses.count > MOST) return null;
  const walk = new Walk(kernel.ops, loops, accesses, numbersOf(kernel, values));
  return walk.run() ? new Iterations(loops, walk.list) : null;
}

/** The value of each UOp that loops may end at: numbers, variables, their sums and products; NaN else. */
function numbersOf(kernel: Pick<KernelParts, 'ops' | 'loops'>, values: Readonly<Record<string, number>>): number[] {
  // What threads share runs here as a whole.
  const shared = kernel.loops.flatMap((a) => a.segments.flatMap((s) => s.parts)).find((p) => p.kind === 'parallel')?.size;
  const known: Readonly<Record<string, number>> = { begin0: 0, end0: Number(shared), ...values };
  const out: number[] = [];
  for (const op of kernel.ops) {
    const [a, b] = op.srcs.map((src) => out[src] ?? NaN) as [number, number];
    if (op.op === 'CONST') out.push(Number(op.arg));
    else if (op.op === 'DEFINE_VAR') out.push(known[/'(\w+)'/.exec(op.arg ?? '')?.[1] ?? ''] ?? NaN);
    else if (op.op === 'CAST') out.push(a);
    else out.push(op.arg === 'BinaryOps.ADD' ? a + b : op.arg === 'BinaryOps.SUB' ? a - b : op.arg === 'BinaryOps.MUL' ? a * b : NaN);
  }
  return out;
}

class Walk {
  readonly list: Int32Array;
  private readonly now: Int32Array;
  private readonly ends = new Map<number, number>();
  private at = 0;

  constructor(
    private readonly ops: readonly Op[],
    private readonly loops: ReadonlyMap<number, number>,
    private readonly accesses: OneRun,
    private readonly numbers: readonly number[],
  ) {
    this.list = new Int32Array(loops.size * accesses.count);
    this.now = new Int32Array(loops.size).fill(-1);
    ops.forEach((op, row) => (op.op === 'ENDLOOP' && op.srcs[0] !== undefined ? this.ends.set(op.srcs[0], row) : undefined));
  }

  run(): boolean {
    return this.body(0, this.ops.length) && this.at === this.accesses.count;
  }

  private body(begin: number, end: number): boolean {
    for (let row = begin; row < end; ++row) {
      const op = this.ops[row] as Op;
      if (op.op === 'LOAD' || op.op === 'STORE') {
        if (!this.access(op, row)) return false;
      } else if (op.op === 'LOOP') {
        const last = this.ends.get(row) ?? end;
        if (!this.runLoop(op, row, last)) return false;
        row = last;
      }
    }
    return true;
  }

  private runLoop(op: Op, row: number, last: number): boolean {
    const place = this.loops.get(row) ?? 0;
    const [first, end] = op.srcs.map((src) => this.numbers[src]);
    if (!Number.isInteger(first) || !Number.isInteger(end)) return false;
    for (let iteration = first as number; iteration < (end as number) && this.at < this.accesses.count; ++iteration) {
      this.now[place] = iteration - (first as number);
      if (!this.body(row + 1, last)) return false;
    }
    this.now[place] = -1;
    return true;
  }

  /** As many of the film's accesses as the UOp has lanes; none of scratch memory. */
  private access(op: Op, row: number): boolean {
    if (this.ops[op.srcs[0] ?? -1]?.op !== 'DEFINE_GLOBAL') return true;
    if (op.srcs.length > (op.op === 'LOAD' ? 2 : 3)) return false;
    const dtype = op.op === 'LOAD' ? op.dtype : (this.ops[op.srcs[2] ?? -1]?.dtype ?? '');
    for (let lanes = Number(/x(\d+)$/.exec(dtype)?.[1] ?? 1); lanes > 0; --lanes, ++this.at) {
      if (this.accesses.op[this.at] !== row) return false;
      this.list.set(this.now, this.at * this.loops.size);
    }
    return true;
  }
}
