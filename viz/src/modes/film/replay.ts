// A film of accesses: what memory and cache look like after the first `at` of them. Forward it goes step by step; backward it
// begins again, which a million accesses take some milliseconds for.
import { type CacheRun, type CacheShape, type FilmBuffer, Memory, simulate } from './cache';

/** Accesses of buffers in the order they run. */
export interface Accesses {
  readonly count: number;
  /** How many come from each of the kernels that run, one after another. */
  readonly parts: readonly number[];
  readonly op: Int32Array;
  readonly slot: Int32Array;
  readonly element: Int32Array;
}

/** From triples: number of the UOp, slot of the buffer, element. Scratch memory, slot -1, is left out. `parts` counts triples. */
export function accessesOf(triples: ArrayLike<number>, parts: readonly number[] = [triples.length / 3]): Accesses {
  let count = 0;
  for (let i = 0; i < triples.length; i += 3) count += (triples[i + 1] ?? -1) >= 0 ? 1 : 0;
  const out = { op: new Int32Array(count), slot: new Int32Array(count), element: new Int32Array(count) };
  const kept: number[] = [];
  let at = 0, i = 0;
  for (const part of parts) {
    const before = at;
    for (const end = i + 3 * part; i < end; i += 3) {
      if ((triples[i + 1] ?? -1) < 0) continue;
      out.op[at] = triples[i] ?? 0;
      out.slot[at] = triples[i + 1] ?? 0;
      out.element[at] = triples[i + 2] ?? 0;
      at += 1;
    }
    kept.push(at - before);
  }
  return { count, parts: kept, ...out };
}

/** The kernel that an access comes from, and the first access of it. */
export function partOf(parts: readonly number[], access: number): { part: number; first: number } {
  let first = 0;
  for (let part = 0; part < parts.length; ++part) {
    if (access < first + (parts[part] ?? 0)) return { part, first };
    first += parts[part] ?? 0;
  }
  return { part: parts.length - 1, first: first - (parts.at(-1) ?? 0) };
}

const KINDS = 4;

export class Replay {
  readonly run: CacheRun;
  readonly memory: Memory;
  at = 0;
  private readonly stream: Int32Array;
  private readonly last = new Map<number, Int32Array>();
  private readonly inCache: Uint8Array;
  private readonly counts: Int32Array;

  constructor(
    readonly accesses: Accesses,
    buffers: readonly FilmBuffer[],
    shape: CacheShape,
  ) {
    this.memory = new Memory(buffers, shape.line);
    this.stream = Int32Array.from({ length: accesses.count }, (_, i) => this.memory.lineOf(accesses.slot[i] as number, accesses.element[i] as number));
    this.run = simulate(this.stream, this.memory.lines, shape);
    this.inCache = new Uint8Array(this.memory.lines);
    for (const b of buffers) this.last.set(b.slot, new Int32Array(b.size).fill(-1));
    this.counts = new Int32Array(KINDS * (1 + Math.max(0, ...buffers.map((b) => b.slot))));
  }

  /** The state after the first `at` accesses. */
  seek(at: number): void {
    const to = Math.min(this.accesses.count, Math.max(0, Math.floor(at)));
    if (to < this.at) this.rewind();
    const { slot, element } = this.accesses;
    for (let i = this.at; i < to; ++i) {
      const s = slot[i] as number, gone = this.run.evicted[i] as number;
      const last = this.last.get(s);
      if (last !== undefined) last[element[i] as number] = i;
      if (gone >= 0) this.inCache[gone] = 0;
      this.inCache[this.stream[i] as number] = 1;
      this.counts[s * KINDS + (this.run.outcome[i] as number)]! += 1;
    }
    this.at = to;
  }

  private rewind(): void {
    this.at = 0;
    for (const list of this.last.values()) list.fill(-1);
    this.inCache.fill(0);
    this.counts.fill(0);
  }

  /** How many accesses ago an element was touched: 0 for the newest one, -1 for never. */
  age(slot: number, element: number): number {
    const when = this.last.get(slot)?.[element] ?? -1;
    return when < 0 ? -1 : this.at - 1 - when;
  }

  isCached(slot: number, element: number): boolean {
    return this.inCache[this.memory.lineOf(slot, element)] === 1;
  }

  /** How often accesses of a buffer had an outcome. */
  countOf(slot: number, outcome: number): number {
    return this.counts[slot * KINDS + outcome] ?? 0;
  }

  get cachedLines(): number {
    return this.inCache.reduce((a, b) => a + b, 0);
  }
}
