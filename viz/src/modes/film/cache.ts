// A model of one cache: lines, sets, ways; the line that was used longest ago makes room. Loads and stores are treated alike, and
// a store brings its line in.
//
// Lines of memory are numbered densely from 0 over all buffers (`Memory`), so that all state is arrays over lines.

export interface CacheShape {
  /** Bytes of a line. */
  readonly line: number;
  readonly sets: number;
  readonly ways: number;
}

/** What an access met. A miss is cold where the line was never there before, of capacity where a cache of the same size in one set
 * would have missed too, else a conflict of the sets. */
export const HIT = 0, COLD = 1, CAPACITY = 2, CONFLICT = 3;
export const OUTCOMES = ['hit', 'cold miss', 'capacity miss', 'conflict miss'] as const;

/** What `touch` says instead of a line that had to go. */
const WAS_THERE = -2, HAD_ROOM = -1;

/** Sets of lines, each a list from the line used last to the one used longest ago. */
class LruSets {
  private readonly newer: Int32Array;
  private readonly older: Int32Array;
  private readonly there: Uint8Array;
  private readonly newest: Int32Array;
  private readonly oldest: Int32Array;
  private readonly held: Int32Array;

  constructor(
    private readonly sets: number,
    private readonly ways: number,
    lines: number,
  ) {
    this.newer = new Int32Array(lines).fill(-1);
    this.older = new Int32Array(lines).fill(-1);
    this.there = new Uint8Array(lines);
    this.newest = new Int32Array(sets).fill(-1);
    this.oldest = new Int32Array(sets).fill(-1);
    this.held = new Int32Array(sets);
  }

  /** Uses a line: WAS_THERE, HAD_ROOM, or the line that made room. */
  touch(line: number): number {
    const set = line % this.sets;
    if (this.there[line] === 1) {
      this.unlink(set, line);
      this.link(set, line);
      return WAS_THERE;
    }
    let gone = HAD_ROOM;
    if (this.held[set] === this.ways) {
      gone = this.oldest[set] as number;
      this.unlink(set, gone);
      this.there[gone] = 0;
    } else this.held[set]! += 1;
    this.there[line] = 1;
    this.link(set, line);
    return gone;
  }

  private link(set: number, line: number): void {
    const before = this.newest[set] as number;
    this.older[line] = before;
    this.newer[line] = -1;
    if (before >= 0) this.newer[before] = line;
    else this.oldest[set] = line;
    this.newest[set] = line;
  }

  private unlink(set: number, line: number): void {
    const newer = this.newer[line] as number, older = this.older[line] as number;
    if (newer >= 0) this.older[newer] = older;
    else this.newest[set] = older;
    if (older >= 0) this.newer[older] = newer;
    else this.oldest[set] = newer;
  }
}

export interface CacheRun {
  /** HIT, COLD, CAPACITY or CONFLICT of each access. */
  readonly outcome: Uint8Array;
  /** The line that made room at each access, -1 for none. */
  readonly evicted: Int32Array;
}

/** Runs a stream of line numbers, each less than `lines`. */
export function simulate(stream: Int32Array, lines: number, shape: CacheShape): CacheRun {
  const cache = new LruSets(shape.sets, shape.ways, lines);
  const ideal = new LruSets(1, shape.sets * shape.ways, lines);
  const known = new Uint8Array(lines);
  const outcome = new Uint8Array(stream.length);
  const evicted = new Int32Array(stream.length).fill(-1);
  for (let i = 0; i < stream.length; ++i) {
    const line = stream[i] as number;
    const gone = cache.touch(line), inIdeal = ideal.touch(line) === WAS_THERE;
    if (gone !== WAS_THERE) {
      outcome[i] = known[line] === 0 ? COLD : inIdeal ? CONFLICT : CAPACITY;
      evicted[i] = gone;
    }
    known[line] = 1;
  }
  return { outcome, evicted };
}

export interface FilmBuffer {
  readonly slot: number;
  /** Elements. */
  readonly size: number;
  /** Bytes of an element. */
  readonly bytes: number;
}

/** Buffers in memory one after another, each from a line of its own. */
export class Memory {
  private readonly base = new Map<number, { line: number; bytes: number }>();
  readonly lines: number;

  constructor(
    buffers: readonly FilmBuffer[],
    private readonly line: number,
  ) {
    let next = 0;
    for (const b of buffers) {
      this.base.set(b.slot, { line: next, bytes: b.bytes });
      next += Math.max(1, Math.ceil((b.size * b.bytes) / line));
    }
    this.lines = next;
  }

  /** The line of an element of a buffer. */
  lineOf(slot: number, element: number): number {
    const b = this.base.get(slot);
    return b === undefined ? -1 : b.line + Math.floor((element * b.bytes) / this.line);
  }
}

/** How often accesses in each of `bins` equal parts of a run missed, in [0, 1]. */
export function missRates(outcome: Uint8Array, bins: number): Float64Array {
  const count = Math.max(1, Math.min(bins, outcome.length));
  const out = new Float64Array(count);
  for (let b = 0; b < count; ++b) {
    const begin = Math.floor((b * outcome.length) / count), end = Math.floor(((b + 1) * outcome.length) / count);
    let misses = 0;
    for (let i = begin; i < end; ++i) misses += outcome[i] === HIT ? 0 : 1;
    out[b] = end > begin ? misses / (end - begin) : 0;
  }
  return out;
}
