// The cache model against a naive one: lists that are searched and shifted.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CAPACITY, COLD, CONFLICT, HIT, Memory, missRates, simulate } from '../src/modes/film/cache';
import { accessesOf, partOf, Replay } from '../src/modes/film/replay';

/** Numbers that look random: one seed, one stream. */
function random(seed: number): (below: number) => number {
  let x = seed >>> 0;
  return (below) => {
    x = (Math.imul(x, 1664525) + 1013904223) >>> 0;
    return Math.floor((x / 4294967296) * below);
  };
}

/** One set after another as a list of lines, the newest last. */
function naive(stream: Int32Array, sets: number, ways: number): { hits: boolean[]; evicted: number[]; left: number[][] } {
  const cache: number[][] = Array.from({ length: sets }, () => []);
  const hits: boolean[] = [], evicted: number[] = [];
  for (const line of stream) {
    const set = cache[line % sets] ?? [];
    const place = set.indexOf(line);
    hits.push(place >= 0);
    if (place >= 0) set.splice(place, 1);
    set.push(line);
    evicted.push(set.length > ways ? (set.shift() ?? -1) : -1);
  }
  return { hits, evicted, left: cache };
}

/** Walks that come back, jumps and repetitions, as loops make them. */
function streamOf(next: (below: number) => number, lines: number, count: number): Int32Array {
  let at = next(lines);
  return Int32Array.from({ length: count }, () => {
    const kind = next(10);
    at = kind < 4 ? (at + 1) % lines : kind < 6 ? at : kind < 8 ? (at + lines - 1 - next(3)) % lines : next(lines);
    return ((at % lines) + lines) % lines;
  });
}

test('counts and evictions equal a direct simulation on 300 random streams', () => {
  const next = random(7);
  const seen = [0, 0, 0, 0];
  for (let trial = 0; trial < 300; ++trial) {
    const sets = 1 + next(9), ways = 1 + next(9), lines = 1 + next(120);
    const stream = streamOf(next, lines, 1 + next(800));
    const run = simulate(stream, lines, { line: 64, sets, ways });
    const direct = naive(stream, sets, ways), ideal = naive(stream, 1, sets * ways);
    const known = new Set<number>();
    stream.forEach((line, i) => {
      const wanted = direct.hits[i] === true ? HIT : !known.has(line) ? COLD : ideal.hits[i] === true ? CONFLICT : CAPACITY;
      known.add(line);
      assert.equal(run.outcome[i], wanted, `trial ${trial}, access ${i}`);
      assert.equal(run.evicted[i], direct.evicted[i], `trial ${trial}, access ${i}`);
      seen[wanted]! += 1;
    });
  }
  for (const count of seen) assert.ok(count > 500, `each outcome often: ${seen.join(' ')}`);
});

test('a replay that goes back and forth has the state of one that goes straight', () => {
  const next = random(11);
  const buffers = [{ slot: 0, size: 40, bytes: 4 }, { slot: 2, size: 25, bytes: 8 }];
  const shape = { line: 16, sets: 2, ways: 2 };
  const triples = Array.from({ length: 500 }, () => {
    const b = buffers[next(2)] ?? { slot: 0, size: 40 };
    return [next(30), b.slot, next(b.size)];
  });
  const accesses = accessesOf(triples.flat());
  const wild = new Replay(accesses, buffers, shape);
  for (let trial = 0; trial < 60; ++trial) {
    const at = next(501);
    wild.seek(at);
    const straight = new Replay(accesses, buffers, shape);
    straight.seek(at);
    const lines = triples.slice(0, at).map(([, slot, element]) => straight.memory.lineOf(slot ?? 0, element ?? 0));
    const direct = naive(Int32Array.from(lines), 2, 2);
    for (const b of buffers)
      for (let e = 0; e < b.size; ++e) {
        const when = triples.slice(0, at).map(([, slot, element]) => slot === b.slot && element === e).lastIndexOf(true);
        assert.equal(wild.age(b.slot, e), when < 0 ? -1 : at - 1 - when);
        assert.equal(wild.isCached(b.slot, e), direct.left.some((set) => set.includes(wild.memory.lineOf(b.slot, e))));
      }
    const hits = direct.hits.filter(Boolean).length;
    assert.equal(wild.countOf(0, HIT) + wild.countOf(2, HIT), hits);
    const all = [HIT, COLD, CAPACITY, CONFLICT].reduce((n, kind) => n + wild.countOf(0, kind) + wild.countOf(2, kind), 0);
    assert.equal(all, at);
    assert.equal(wild.cachedLines, direct.left.flat().length);
  }
});

test('buffers lie one after another, each from a line of its own', () => {
  const memory = new Memory([{ slot: 0, size: 5, bytes: 4 }, { slot: 3, size: 4, bytes: 8 }], 16);
  assert.deepEqual([0, 3, 4].map((e) => memory.lineOf(0, e)), [0, 0, 1]);
  assert.deepEqual([0, 1, 2, 3].map((e) => memory.lineOf(3, e)), [2, 2, 3, 3]);
  assert.equal(memory.lines, 4);
});

test('rates of misses over equal parts', () => {
  assert.deepEqual([...missRates(Uint8Array.from([1, 0, 0, 0, 2, 3]), 3)], [0.5, 0, 1]);
  assert.deepEqual([...missRates(Uint8Array.from([1]), 100)], [1]);
  assert.equal(missRates(new Uint8Array(0), 10).length, 1);
});

test('accesses of several kernels, without those of scratch memory', () => {
  const accesses = accessesOf([5, 0, 1, 6, -1, 0, 7, 1, 2, 3, 0, 4, 3, -1, 1], [3, 2]);
  assert.deepEqual([accesses.count, [...accesses.op], [...accesses.slot], [...accesses.element], accesses.parts], [3, [5, 7, 3], [0, 1, 0], [1, 2, 4], [2, 1]]);
  assert.deepEqual([0, 1, 2].map((i) => partOf(accesses.parts, i)), [{ part: 0, first: 0 }, { part: 0, first: 0 }, { part: 1, first: 2 }]);
});
