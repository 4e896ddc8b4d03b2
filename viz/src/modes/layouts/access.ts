// What accesses by threads cost: banks, sectors, lines, vectors. Counted from addresses alone, for any layout.
//
// A request is what one warp does at once: each of its threads touches `vector` elements that follow one another. A request of more
// bytes than all banks give in one pass goes in phases of consecutive threads. In a phase a bank gives one word a pass; threads that
// want the same word get it together. `ways` is the most words that one bank has to give in a phase.
export interface Machine {
  /** Of an element. */
  readonly bytes: number;
  /** Elements that a thread touches at once. */
  readonly vector: number;
  readonly warp: number;
  readonly banks: number;
  readonly bankBytes: number;
  readonly sectorBytes: number;
  readonly lineBytes: number;
  /** Where element 0 is, in bytes from a boundary of everything. */
  readonly base: number;
}

export interface Accesses {
  readonly threads: number;
  readonly values: number;
  /** The address, in elements. */
  at(thread: number, value: number): number;
}

export interface WarpRequest {
  readonly warp: number;
  /** The first of its values. */
  readonly value: number;
  readonly phases: number;
  readonly ways: number;
  /** Passes through the banks: `ways` of each phase, summed. */
  readonly passes: number;
  readonly sectors: number;
  /** Sectors that as many bytes fill. */
  readonly leastSectors: number;
  readonly lines: number;
  /** Different bytes. */
  readonly bytes: number;
}

const mod = (a: number, b: number): number => ((a % b) + b) % b;
const byteOf = (address: number, m: Machine): number => m.base + address * m.bytes;
const threadsOf = (a: Accesses, m: Machine, warp: number): [number, number] => [warp * m.warp, Math.min(a.threads, (warp + 1) * m.warp)];

/** Threads that go in one phase. */
export const phaseThreads = (m: Machine): number =>
  Math.min(m.warp, Math.max(1, Math.floor((m.banks * m.bankBytes) / (m.vector * m.bytes))));

/** Calls `each` with every unit of `unit` bytes that a thread's part of a request touches; a unit may come twice. */
function unitsOf(a: Accesses, m: Machine, thread: number, value: number, unit: number, each: (unit: number) => void): void {
  for (let v = value; v < Math.min(a.values, value + m.vector); ++v) {
    const begin = byteOf(a.at(thread, v), m);
    for (let u = Math.floor(begin / unit); u * unit < begin + m.bytes; ++u) each(u);
  }
}

/** One phase: for each bank the words it has to give, each with the threads that want it. */
export interface Phase {
  readonly first: number;
  readonly last: number;
  readonly banks: ReadonlyMap<number, ReadonlyMap<number, readonly number[]>>;
  readonly ways: number;
}

export function phasesOf(a: Accesses, m: Machine, warp: number, value: number): Phase[] {
  const [begin, end] = threadsOf(a, m, warp);
  const step = phaseThreads(m);
  const out: Phase[] = [];
  for (let first = begin; first < end; first += step) {
    const banks = new Map<number, Map<number, number[]>>();
    const last = Math.min(end, first + step) - 1;
    for (let t = first; t <= last; ++t) unitsOf(a, m, t, value, m.bankBytes, (word) => want(banks, mod(word, m.banks), word, t));
    out.push({ first, last, banks, ways: Math.max(...[...banks.values()].map((words) => words.size)) });
  }
  return out;
}

function want(banks: Map<number, Map<number, number[]>>, bank: number, word: number, thread: number): void {
  const words = banks.get(bank) ?? new Map<number, number[]>();
  banks.set(bank, words);
  const threads = words.get(word);
  if (threads === undefined) words.set(word, [thread]);
  else if (threads.at(-1) !== thread) threads.push(thread);
}

/** The different units of `unit` bytes that a warp's request touches. */
export function touched(a: Accesses, m: Machine, warp: number, value: number, unit: number): Set<number> {
  const [begin, end] = threadsOf(a, m, warp);
  const out = new Set<number>();
  for (let t = begin; t < end; ++t) unitsOf(a, m, t, value, unit, (u) => out.add(u));
  return out;
}

export function requestsOf(a: Accesses, m: Machine): WarpRequest[] {
  const out: WarpRequest[] = [];
  for (let warp = 0; warp * m.warp < a.threads; ++warp)
    for (let value = 0; value < a.values; value += m.vector) out.push(requestOf(a, m, warp, value));
  return out;
}

export function requestOf(a: Accesses, m: Machine, warp: number, value: number): WarpRequest {
  const phases = phasesOf(a, m, warp, value);
  const elements = new Set<number>();
  const [begin, end] = threadsOf(a, m, warp);
  for (let t = begin; t < end; ++t)
    for (let v = value; v < Math.min(a.values, value + m.vector); ++v) elements.add(a.at(t, v));
  const bytes = elements.size * m.bytes;
  return {
    warp, value, bytes,
    phases: phases.length,
    ways: Math.max(...phases.map((p) => p.ways)),
    passes: phases.reduce((sum, p) => sum + p.ways, 0),
    sectors: touched(a, m, warp, value, m.sectorBytes).size,
    leastSectors: Math.ceil(bytes / m.sectorBytes),
    lines: touched(a, m, warp, value, m.lineBytes).size,
  };
}

export interface Totals {
  readonly requests: number;
  readonly ways: number;
  readonly passes: number;
  readonly phases: number;
  readonly sectors: number;
  readonly leastSectors: number;
  readonly lines: number;
  /** Bytes wanted over bytes moved, by requests. */
  readonly used: number;
}

export function totalsOf(list: readonly WarpRequest[], m: Machine): Totals {
  const sum = (of: (r: WarpRequest) => number): number => list.reduce((s, r) => s + of(r), 0);
  const sectors = sum((r) => r.sectors);
  return {
    requests: list.length,
    ways: list.reduce((most, r) => Math.max(most, r.ways), 0),
    passes: sum((r) => r.passes),
    phases: sum((r) => r.phases),
    sectors,
    leastSectors: sum((r) => r.leastSectors),
    lines: sum((r) => r.lines),
    used: sectors === 0 ? 1 : sum((r) => r.bytes) / (sectors * m.sectorBytes),
  };
}

export interface Vectors {
  /** The most elements that each thread can touch at once. */
  readonly width: number;
  /** Why not twice as many: a thread, the value it fails at; null where the values or the bytes end. */
  readonly fails: { readonly thread: number; readonly value: number; readonly because: 'gap' | 'alignment' } | null;
}

/** The widest vectors, of a power of two elements and at most `most` bytes: their elements follow one another, aligned to the whole. */
export function vectorsOf(a: Accesses, m: Pick<Machine, 'bytes' | 'base'>, most: number): Vectors {
  for (let width = 1; ; width *= 2) {
    if (width * 2 * m.bytes > most || a.values % (width * 2) !== 0) return { width, fails: null };
    const fails = vectorFails(a, m, width * 2);
    if (fails !== null) return { width, fails };
  }
}

/** Where vectors of `width` elements are impossible; null where they all are possible. */
export function vectorFails(a: Accesses, m: Pick<Machine, 'bytes' | 'base'>, width: number): Vectors['fails'] {
  for (let thread = 0; thread < a.threads; ++thread)
    for (let value = 0; value < a.values; value += width) {
      const first = a.at(thread, value);
      if (mod(m.base + first * m.bytes, width * m.bytes) !== 0) return { thread, value, because: 'alignment' };
      for (let k = 1; k < width; ++k)
        if (value + k >= a.values || a.at(thread, value + k) !== first + k) return { thread, value: value + k, because: 'gap' };
    }
  return null;
}

/** A cache line that several threads touch. */
export interface SharedLine {
  readonly line: number;
  readonly threads: readonly number[];
  /** Two of them have no element of it in common. */
  readonly falsely: boolean;
}

export interface Lines {
  readonly touched: number;
  /** Lines that as many bytes fill. */
  readonly least: number;
  /** Of one thread, at most. */
  readonly mostOfThread: number;
  readonly shared: readonly SharedLine[];
}

export function linesOf(a: Accesses, m: Machine): Lines {
  const lines = new Map<number, Map<number, Set<number>>>();
  const elements = new Set<number>(), ofThread = new Map<number, number>();
  const unit = { ...m, vector: 1 };
  for (let t = 0; t < a.threads; ++t)
    for (let v = 0; v < a.values; ++v) {
      elements.add(a.at(t, v));
      unitsOf(a, unit, t, v, m.lineBytes, (line) => {
        const threads = lines.get(line) ?? new Map<number, Set<number>>();
        lines.set(line, threads);
        if (!threads.has(t)) ofThread.set(t, (ofThread.get(t) ?? 0) + 1);
        threads.set(t, (threads.get(t) ?? new Set()).add(a.at(t, v)));
      });
    }
  const shared = [...lines].filter(([, threads]) => threads.size > 1).sort(([p], [q]) => p - q);
  return {
    touched: lines.size,
    least: Math.ceil((elements.size * m.bytes) / m.lineBytes),
    mostOfThread: [...ofThread.values()].reduce((most, n) => Math.max(most, n), 0),
    shared: shared.map(([line, threads]) => ({ line, threads: [...threads.keys()], falsely: areApart([...threads.values()]) })),
  };
}

/** Whether two of the sets have nothing in common. Equal ones are looked at once. */
function areApart(sets: readonly ReadonlySet<number>[]): boolean {
  const different = [...new Map(sets.map((s) => [[...s].join(), s])).values()];
  return different.some((s, i) => different.slice(0, i).some((other) => ![...s].some((e) => other.has(e))));
}
