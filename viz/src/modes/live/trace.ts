// A trace as docs/viz-trace.md describes it, read line by line as it grows.
import type { Size } from '../../answers';

export interface TraceNode {
  readonly op: string;
  readonly dtype?: string;
  readonly shape?: readonly Size[];
  readonly src?: readonly number[];
  readonly arg?: string;
  readonly value?: string;
  /** The operation that the user wrote, the number of its file, the line. */
  readonly origin?: readonly [string, number, number];
  readonly memory?: boolean;
  readonly slot?: number;
  readonly size?: Size;
  readonly view?: string;
}

export interface Item {
  readonly kind: 'kernel' | 'loop' | 'copy' | 'memory';
  readonly outputs: readonly number[];
  readonly inputs: readonly number[];
  readonly computes: readonly number[];
  readonly why: string;
  readonly text: string;
}

export interface Plan {
  readonly blocks: readonly number[];
  readonly nodes: readonly (readonly [number, number])[];
  readonly peak: number;
  readonly unshared: number;
}

export interface TensorGraph {
  readonly graph: number;
  readonly count: number;
  readonly roots: readonly number[];
  readonly files: readonly string[];
  readonly nodes: TraceNode[];
  readonly schedule: Item[];
  plan: Plan | null;
}

/** The texts of a kernel, or of one that runs before it. */
export interface KernelTexts {
  readonly name: string;
  readonly ast: readonly TraceNode[];
  readonly files: readonly string[];
  readonly opts: readonly string[];
  readonly axes: string;
  readonly uops: string;
  /** Not there where nobody said for which device it is. */
  readonly source?: string;
  readonly proof: { readonly accesses: number; readonly by_bounds: number; readonly by_algebra: number; readonly text: string };
  readonly passes: Readonly<Record<string, number>>;
}

export interface TracedKernel extends KernelTexts {
  readonly kernel: number;
  readonly at: number;
  readonly ns: number;
  readonly device: string | null;
  /** Those that run before it. */
  readonly first?: readonly KernelTexts[];
  readonly rewrites?: readonly { readonly rule: string; readonly title: string; readonly times: number; readonly before: string; readonly after: string }[];
  readonly buffers: readonly { readonly dtype: string; readonly size: Size; readonly read: boolean; readonly written: boolean }[];
  readonly operations: number;
  readonly bytes: number;
}

export interface Run {
  readonly kernel: number;
  /** Nanoseconds from the beginning of the trace, and how many it took. */
  readonly at: number;
  readonly ns: number;
  readonly thread: number;
  readonly threads: number;
  readonly realize?: number;
  readonly item?: number;
  readonly capture?: number;
}

export interface Realize {
  readonly realize: number;
  readonly graph: number;
  readonly at: number;
  readonly thread: number;
  readonly schedule_ns: number;
  end?: number;
}

interface Capture {
  readonly capture: number;
  readonly name: string;
  readonly steps: readonly { readonly kernel: number }[];
}

export interface MemoryEvent {
  readonly at: number;
  readonly block: number;
  /** Negative: freed. */
  readonly bytes: number;
}

interface Line {
  readonly event: string;
  readonly at: number;
  readonly thread: number;
  readonly ns: number;
  readonly [key: string]: unknown;
}

export class Trace {
  head: Readonly<Record<string, unknown>> | null = null;
  readonly devices: { readonly name: string; readonly text: string; readonly threads: number }[] = [];
  readonly graphs = new Map<number, TensorGraph>();
  readonly kernels = new Map<number, TracedKernel>();
  readonly captures = new Map<number, Capture>();
  readonly runs: Run[] = [];
  readonly realizes = new Map<number, Realize>();
  readonly memory: MemoryEvent[] = [];
  /** What could not be read, the first hundred of them. */
  readonly faults: string[] = [];
  ended = false;
  last = 0;
  lines = 0;
  private readonly live = new Map<number, number>();
  private rest = '';

  /** More of the file; a line that is not whole yet waits for what follows. */
  push(text: string): void {
    const lines = (this.rest + text).split('\n');
    this.rest = lines.pop() ?? '';
    for (const line of lines) this.line(line);
  }

  /** The file has no more: what is left is a line that was cut. */
  finish(): void {
    if (this.rest.trim() !== '') this.fault('the last line is not whole');
    this.rest = '';
  }

  private fault(what: string): void {
    if (this.faults.length < 100) this.faults.push(`line ${this.lines}: ${what}`);
  }

  private line(text: string): void {
    this.lines += 1;
    if (text.trim() === '') return;
    let line: Line;
    try {
      line = JSON.parse(text) as Line;
    } catch {
      return this.fault('it is no JSON');
    }
    if (typeof line !== 'object' || line === null || typeof line.event !== 'string') return this.fault('it has no "event"');
    if (this.head === null && line.event !== 'trace') return this.fault('a trace begins with the event "trace"');
    try {
      this.event(line);
    } catch (error) {
      return this.fault(`${line.event}: ${error instanceof Error ? error.message : String(error)}`);
    }
    if (Number.isFinite(line.at)) this.last = Math.max(this.last, line.at + (Number.isFinite(line.ns) ? line.ns : 0));
  }

  private event(line: Line): void {
    const take = EVENTS[line.event];
    if (take !== undefined) take(this, line);
  }

  graphOf(line: Line): TensorGraph {
    const graph = this.graphs.get(line['graph'] as number);
    if (graph === undefined) throw new Error(`there is no graph ${String(line['graph'])}`);
    return graph;
  }

  allocated(line: Line): void {
    const { block, bytes } = line as unknown as { block: number; bytes: number };
    this.live.set(block, bytes);
    this.memory.push({ at: line.at, block, bytes });
  }

  freed(line: Line): void {
    const { block } = line as unknown as { block: number };
    const bytes = this.live.get(block);
    if (bytes === undefined) return; // from before the trace
    this.live.delete(block);
    this.memory.push({ at: line.at, block, bytes: -bytes });
  }

  replayed(line: Line): void {
    const { capture, marks, threads } = line as unknown as { capture: number; marks: readonly number[]; threads: number };
    const steps = this.captures.get(capture)?.steps;
    if (steps === undefined) throw new Error(`there is no capture ${capture}`);
    steps.forEach((step, k) => {
      const begin = marks[k] ?? 0;
      this.runs.push({ kernel: step.kernel, at: line.at + begin, ns: (marks[k + 1] ?? begin) - begin, thread: line.thread, threads, capture });
    });
  }
}

const list = <T>(line: Line, key: string): readonly T[] => {
  const value = line[key];
  if (!Array.isArray(value)) throw new Error(`"${key}" is no list`);
  return value as T[];
};

const EVENTS: Readonly<Record<string, (trace: Trace, line: Line) => void>> = {
  trace(trace, line) {
    if (line['format'] !== 1) throw new Error(`format ${String(line['format'])} is not 1, which this page reads`);
    trace.head = line;
  },
  device: (trace, line) => void trace.devices.push(line as unknown as Trace['devices'][number]),
  graph: (trace, line) => void trace.graphs.set(line['graph'] as number, { ...(line as unknown as TensorGraph), files: list(line, 'files'), roots: list(line, 'roots'), nodes: [], schedule: [], plan: null }),
  nodes: (trace, line) => void trace.graphOf(line).nodes.push(...list<TraceNode>(line, 'nodes')),
  schedule: (trace, line) => void trace.graphOf(line).schedule.push(...list<Item>(line, 'items')),
  plan: (trace, line) => void (trace.graphOf(line).plan = line as unknown as Plan),
  realize: (trace, line) => void trace.realizes.set(line['realize'] as number, line as unknown as Realize),
  realized(trace, line) {
    const begun = trace.realizes.get(line['realize'] as number);
    if (begun !== undefined) begun.end = line.at;
  },
  kernel: (trace, line) => void trace.kernels.set(line['kernel'] as number, line as unknown as TracedKernel),
  run: (trace, line) => void trace.runs.push(line as unknown as Run),
  capture: (trace, line) => void trace.captures.set(line['capture'] as number, line as unknown as Capture),
  replay: (trace, line) => trace.replayed(line),
  allocate: (trace, line) => trace.allocated(line),
  free: (trace, line) => trace.freed(line),
  end: (trace) => void (trace.ended = true),
};

export interface KernelTotal {
  readonly kernel: TracedKernel;
  readonly runs: number;
  readonly ns: number;
  readonly least: number;
}

/** What each kernel took in all, the most expensive first. */
export function totalsOf(trace: Trace): KernelTotal[] {
  const sums = new Map<number, { runs: number; ns: number; least: number }>();
  for (const run of trace.runs) {
    const sum = sums.get(run.kernel) ?? { runs: 0, ns: 0, least: Infinity };
    sum.runs += 1;
    sum.ns += run.ns;
    sum.least = Math.min(sum.least, run.ns);
    sums.set(run.kernel, sum);
  }
  const rows = [...trace.kernels.values()].map((kernel) => ({ kernel, ...(sums.get(kernel.kernel) ?? { runs: 0, ns: 0, least: Infinity }) }));
  return rows.sort((a, b) => b.ns - a.ns);
}

/** Bytes that are held after each event. */
export function heldOver(memory: readonly MemoryEvent[]): { at: number; held: number }[] {
  let held = 0;
  return memory.map(({ at, bytes }) => ({ at, held: (held += bytes) }));
}

/** Chrome's trace format (chrome://tracing, Perfetto): complete events, counters of memory. */
export function chromeTrace(trace: Trace): object {
  const us = (ns: number): number => ns / 1000;
  const pid = Number(trace.head?.['pid'] ?? 1);
  const events: object[] = [{ name: 'process_name', ph: 'M', pid, args: { name: String(trace.head?.['program'] ?? 'strata') } }];
  for (const run of trace.runs) {
    const kernel = trace.kernels.get(run.kernel);
    events.push({ name: kernel?.name ?? `kernel ${run.kernel}`, cat: 'kernel', ph: 'X', pid, tid: run.thread, ts: us(run.at), dur: us(run.ns), args: { kernel: run.kernel, threads: run.threads, operations: kernel?.operations, bytes: kernel?.bytes } });
  }
  for (const kernel of trace.kernels.values())
    if (kernel.ns > 0) events.push({ name: `compile ${kernel.name}`, cat: 'compile', ph: 'X', pid, tid: 0, ts: us(kernel.at), dur: us(kernel.ns), args: { kernel: kernel.kernel } });
  for (const r of trace.realizes.values())
    if (r.end !== undefined) events.push({ name: `realize graph ${r.graph}`, cat: 'realize', ph: 'X', pid, tid: r.thread, ts: us(r.at), dur: us(r.end - r.at), args: { realize: r.realize } });
  for (const { at, held } of heldOver(trace.memory)) events.push({ name: 'memory', ph: 'C', pid, ts: us(at), args: { bytes: held } });
  return { traceEvents: events, displayTimeUnit: 'ns' };
}
