// The mode of layouts: counts equal a direct simulation, links and notation equal the engine.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { loadEngine } from '../plugins/node-engine';
import type { Engine } from '../src/engine/instance';
import { type Accesses, linesOf, type Machine, requestsOf, totalsOf, vectorsOf } from '../src/modes/layouts/access';
import { joinCall, splitCall } from '../src/modes/layouts/call';
import { drawn, indexIn, pictureShape, placeIn, workOf } from '../src/modes/layouts/drawn';
import { argumentsFor, operation, OPERATIONS, PRESETS } from '../src/modes/layouts/functions';
import { escapeTex, tikz } from '../src/modes/layouts/latex';
import { divided, dividedByMode, inverse, product, productByMode } from '../src/modes/layouts/links';
import { compact, coordinateIn, type Layout, leavesOf, modeSizes, parseLayout, rangeOf, renderLayout, renderTree, sizeOfTree, type Tree, valueAt } from '../src/modes/layouts/notation';
import { parseSwizzle, period, plainText, swizzled, writeSwizzle } from '../src/modes/layouts/swizzle';

const SEED = Number(process.env['STRATA_SEED'] ?? Date.now() % 2 ** 31);

/** Mulberry32. */
function random(seed: number): (below: number) => number {
  let s = seed;
  return (below) => {
    s = (s + 0x6d2b79f5) | 0;
    let t = Math.imul(s ^ (s >>> 15), 1 | s);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return Math.floor((((t ^ (t >>> 14)) >>> 0) / 2 ** 32) * below);
  };
}
type Below = ReturnType<typeof random>;
const pick = <T>(below: Below, list: readonly T[]): T => list[below(list.length)] as T;

function randomLayout(below: Below, modes = 1 + below(3), strides: readonly number[] = [0, 1, 1, 2, 3, 4, 7, 8, 16, 32, -1, -4]): Layout {
  const leaf = (): [Tree, Tree] => [1 + below(5), pick(below, strides)];
  const tree = (depth: number): [Tree, Tree] => {
    if (depth === 0 || below(3) > 0) return leaf();
    const parts = Array.from({ length: 2 + below(2) }, () => tree(depth - 1));
    return [parts.map(([s]) => s), parts.map(([, d]) => d)];
  };
  if (modes === 1) return { shape: 1 + below(24), stride: pick(below, strides) };
  const parts = Array.from({ length: modes }, () => tree(2));
  return { shape: parts.map(([s]) => s), stride: parts.map(([, d]) => d) };
}

const accessesOf = (l: Layout, mode: number): Accesses => {
  const work = workOf(modeSizes(l), mode);
  return { threads: work.threads, values: work.values, at: (t, v) => valueAt(l, work.index(t, v)) };
};

function randomMachine(below: Below): Machine {
  return {
    bytes: pick(below, [1, 2, 3, 4, 8, 16]), vector: pick(below, [1, 1, 2, 3, 4, 8]), warp: pick(below, [1, 3, 4, 8, 32]), banks: pick(below, [1, 2, 3, 8, 32]),
    bankBytes: pick(below, [1, 4, 8]), sectorBytes: pick(below, [1, 8, 32, 48]), lineBytes: pick(below, [4, 16, 64]), base: pick(below, [0, 0, 1, 4, 12]),
  };
}

// --- the direct simulation: every byte is looked at by itself ---

function bytesOf(a: Accesses, m: Machine, t: number, v: number): number[] {
  const out: number[] = [];
  for (let k = v; k < v + m.vector && k < a.values; k++) for (let b = 0; b < m.bytes; b++) out.push(m.base + a.at(t, k) * m.bytes + b);
  return out;
}

function simulate(a: Accesses, m: Machine, warp: number, v: number) {
  const threads = Array.from({ length: m.warp }, (_, k) => warp * m.warp + k).filter((t) => t < a.threads);
  let atOnce = 1; // threads whose vectors fit into one pass of all banks
  while (atOnce < m.warp && (atOnce + 1) * m.vector * m.bytes <= m.banks * m.bankBytes) atOnce++;
  let ways = 0, passes = 0, phases = 0;
  for (let i = 0; i < threads.length; i += atOnce) {
    const wanted = new Set(threads.slice(i, i + atOnce).flatMap((t) => bytesOf(a, m, t, v).map((b) => Math.floor(b / m.bankBytes))));
    const load = new Array<number>(m.banks).fill(0);
    for (const word of wanted) load[word - m.banks * Math.floor(word / m.banks)]! += 1;
    const most = Math.max(...load);
    ways = Math.max(ways, most);
    passes += most;
    phases += 1;
  }
  const all = new Set(threads.flatMap((t) => bytesOf(a, m, t, v)));
  const units = (unit: number): number => new Set([...all].map((b) => Math.floor(b / unit))).size;
  return { warp, value: v, ways, passes, phases, sectors: units(m.sectorBytes), leastSectors: Math.ceil(all.size / m.sectorBytes), lines: units(m.lineBytes), bytes: all.size };
}

function simulateLines(a: Accesses, m: Machine) {
  const one = { ...m, vector: 1 };
  const touch: { line: number; thread: number; element: number }[] = [];
  const bytes = new Set<number>();
  for (let t = 0; t < a.threads; t++)
    for (let v = 0; v < a.values; v++)
      for (const b of bytesOf(a, one, t, v)) {
        bytes.add(b);
        touch.push({ line: Math.floor(b / m.lineBytes), thread: t, element: a.at(t, v) });
      }
  const lines = [...new Set(touch.map((x) => x.line))].sort((p, q) => p - q);
  const shared = [];
  for (const line of lines) {
    const here = touch.filter((x) => x.line === line);
    const threads = [...new Set(here.map((x) => x.thread))];
    if (threads.length < 2) continue;
    const of = threads.map((t) => new Set(here.filter((x) => x.thread === t).map((x) => x.element)));
    let falsely = false;
    for (let i = 0; i < of.length; i++) for (let j = 0; j < i; j++) if (![...of[i]!].some((e) => of[j]!.has(e))) falsely = true;
    shared.push({ line, threads, falsely });
  }
  const perThread = Array.from({ length: a.threads }, (_, t) => new Set(touch.filter((x) => x.thread === t).map((x) => x.line)).size);
  return { touched: lines.length, least: Math.ceil(bytes.size / m.lineBytes), mostOfThread: Math.max(...perThread), shared };
}

function simulateVectors(a: Accesses, m: Machine, most: number): number {
  let best = 1;
  for (let width = 2; width * m.bytes <= most && a.values % width === 0; width *= 2) {
    let good = true;
    for (let t = 0; t < a.threads; t++)
      for (let v = 0; v < a.values; v++) {
        if (v % width !== 0) good &&= a.at(t, v) === a.at(t, v - 1) + 1;
        else good &&= Math.abs((m.base + a.at(t, v) * m.bytes) % (width * m.bytes)) === 0;
      }
    if (!good) break;
    best = width;
  }
  return best;
}

describe('accesses', () => {
  test(`counts equal a direct simulation, seed ${SEED}`, () => {
    const below = random(SEED);
    let conflicts = 0, vectors = 0, falsely = 0;
    for (let n = 0; n < 1200; ++n) {
      const m = randomMachine(below);
      // Every third has values that follow one another, so that vectors occur.
      const l = n % 3 === 0 ? { shape: [1 + below(8), pick(below, [2, 4, 8])], stride: [pick(below, [2, 4, 8, 16, 3]), 1] } : randomLayout(below);
      if (sizeOfTree(l.shape) > 120) continue;
      const a = accessesOf(l, n % 3 === 0 ? 0 : below(modeSizes(l).length));
      const what = `${renderLayout(l)} ${a.threads} threads ${JSON.stringify(m)} seed ${SEED}`;
      for (const r of requestsOf(a, m)) {
        assert.deepEqual({ ...r }, simulate(a, m, r.warp, r.value), what);
        conflicts += r.ways > 1 ? 1 : 0;
      }
      const lines = linesOf(a, m);
      assert.deepEqual(lines, simulateLines(a, m), what);
      falsely += lines.shared.filter((s) => s.falsely).length;
      const { width, fails } = vectorsOf(a, m, 16);
      assert.equal(width, simulateVectors(a, m, 16), what);
      if (fails !== null) assert.ok(fails.thread < a.threads && fails.value < a.values, what);
      vectors += width > 1 ? 1 : 0;
    }
    assert.ok(conflicts > 100 && vectors > 20 && falsely > 100, `${conflicts} ${vectors} ${falsely}: too few of a kind to mean something`);
  });

  test('what is known by heart', () => {
    const m: Machine = { bytes: 4, vector: 1, warp: 32, banks: 32, bankBytes: 4, sectorBytes: 32, lineBytes: 64, base: 0 };
    const totals = (text: string, more: Partial<Machine> = {}) => totalsOf(requestsOf(accessesOf(parseLayout(text)!, 0), { ...m, ...more }), m);
    assert.equal(totals('(32,32):(32,1)').ways, 32);
    assert.equal(totals('(32,32):(33,1)').ways, 1);
    assert.equal(totals('(32,32):(1,32)').ways, 1);
    assert.equal(totals('(32,1):(2,1)').ways, 2);
    assert.equal(totals('(32,1):(0,1)').ways, 1); // a broadcast
    assert.equal(totals('(32,1):(1,1)', { bytes: 2 }).ways, 1); // two halves of a word
    assert.deepEqual([totals('(32,4):(4,1)', { vector: 4 }).phases, totals('(32,4):(4,1)', { vector: 4 }).ways], [4, 1]);
    assert.equal(totals('(32,1):(1,1)').sectors, 4);
    assert.equal(totals('(32,1):(32,1)').sectors, 32);
    assert.equal(totals('(32,1):(1,1)').used, 1);
    assert.equal(vectorsOf(accessesOf(parseLayout('(32,8):(8,1)')!, 0), m, 16).width, 4);
    assert.deepEqual(vectorsOf(accessesOf(parseLayout('(32,8):(9,1)')!, 0), m, 16), { width: 1, fails: { thread: 1, value: 0, because: 'alignment' } });
    assert.equal(linesOf(accessesOf(parseLayout('(4,16):(16,1)')!, 0), m).shared.length, 0);
    assert.equal(linesOf(accessesOf(parseLayout('(4,16):(1,4)')!, 0), m).shared.every((s) => s.falsely), true);
    assert.equal(linesOf(accessesOf(parseLayout('(4,16):(0,1)')!, 0), m).shared.every((s) => !s.falsely), true);
  });
});

interface Said {
  readonly layout: Layout;
  readonly table: Float64Array;
}
function say(engine: Engine, fn: string, args: readonly (string | number)[]): Said | null {
  const { answer, arrays } = engine.ask({ do: 'layout', fn, args }) as { answer: Record<string, unknown>; arrays: readonly ArrayLike<number>[] };
  if (answer['error'] !== undefined) return null;
  const table = answer['table'] as number[] | { memory: number };
  const layout = typeof answer['layout'] === 'string' ? parseLayout(answer['layout']) : null;
  return { layout: layout ?? { shape: 1, stride: 0 }, table: Float64Array.from(Array.isArray(table) ? table : (arrays[table.memory] as ArrayLike<number>)) };
}

describe('layouts and the engine', async () => {
  const engine = await loadEngine();

  test(`values of layouts, seed ${SEED}`, () => {
    const below = random(SEED + 1);
    for (let n = 0; n < 300; ++n) {
      const l = randomLayout(below);
      if (sizeOfTree(l.shape) > 2000) continue;
      const said = say(engine, 'crd2idx', [renderLayout(l)]);
      assert.ok(said !== null, renderLayout(l));
      assert.equal(renderLayout(said.layout), renderLayout(l));
      assert.deepEqual([...said.table], Array.from({ length: sizeOfTree(l.shape) }, (_, i) => valueAt(l, i)));
      assert.deepEqual(rangeOf(l), [Math.min(...said.table), Math.max(...said.table)]);
      const i = below(said.table.length);
      const { answer } = engine.ask({ do: 'layout', fn: 'idx2crd', args: [renderLayout(l), i] });
      assert.deepEqual(coordinateIn(l.shape, i), answer['value']);
    }
  });

  test(`links of divides, seed ${SEED}`, () => {
    const below = random(SEED + 2);
    let checked = 0;
    for (let n = 0; n < 600; ++n) {
      const a = parseLayout(pick(below, ['24:1', '(4,6):(6,1)', '((2,4),8):((1,16),2)', '(8,8):(8,1)', '(6,4):(1,0)']))!;
      const byMode = below(2) === 0 && typeof a.shape !== 'number';
      const tiles = byMode ? modeSizes(a).map((size) => pick(below, [1, 2, size])) : [];
      const b = byMode ? `(${tiles.map((t) => `${t}:1`).join(', ')})` : pick(below, ['2:1', '4:2', '(2,2):(1,4)', '(2,3):(1,8)', '3:2']);
      const fn = pick(below, ['logical_divide', 'zipped_divide', 'tiled_divide', 'flat_divide']);
      const result = say(engine, fn, [renderLayout(a), b]), inA = say(engine, fn, [renderLayout(compact(a)), b]);
      if (result === null || inA === null) continue;
      const tile = byMode ? tiles.reduce((p, t) => p * t, 1) : sizeOfTree(parseLayout(b)!.shape);
      const link = byMode && fn === 'logical_divide' ? dividedByMode(inA.table, sizeOfTree(a.shape), modeSizes(result.layout), tiles) : divided(inA.table, sizeOfTree(a.shape), tile);
      const seen = new Map<number, Set<number>>();
      result.table.forEach((value, i) => {
        const at = link.a(i);
        if (at === null) assert.ok((inA.table[i] ?? 0) >= sizeOfTree(a.shape)); // past the end of A
        else assert.equal(valueAt(a, at), value, `${fn} ${renderLayout(a)} ${b} at ${i}`);
        const part = link.part(i) ?? -1;
        seen.set(part, (seen.get(part) ?? new Set()).add(link.b(i) ?? -1));
      });
      assert.equal(seen.size, link.parts, `${fn} ${renderLayout(a)} ${b}`);
      for (const inTile of seen.values()) assert.equal(inTile.size, tile); // each tile has each place once
      // A tile is the first tile, moved, where A's values are its indices.
      for (let i = 0; i < inA.table.length; ++i) {
        const first: number | undefined = [...inA.table.keys()].find((k) => link.part(k) === 0 && link.b(k) === link.b(i));
        const zero: number | undefined = [...inA.table.keys()].find((k) => link.part(k) === link.part(i) && link.b(k) === 0);
        assert.equal(inA.table[i], (inA.table[first ?? 0] ?? 0) + (inA.table[zero ?? 0] ?? 0), `${fn} ${renderLayout(a)} ${b} at ${i}`);
      }
      checked += 1;
    }
    assert.ok(checked > 100, `${checked}`);
  });

  test(`links of products, seed ${SEED}`, () => {
    const below = random(SEED + 3);
    let checked = 0;
    for (let n = 0; n < 400; ++n) {
      const a = parseLayout(pick(below, ['(2,2):(4,1)', '(2,5):(5,1)', '4:1', '(2,2,3):(1,2,4)', '((2,2),3):((1,6),2)']))!;
      const b = parseLayout(pick(below, ['6:1', '(3,4):(1,3)', '(2,3):(3,1)', '(2,2,2):(1,2,4)', '3:2']))!;
      const fn = pick(below, ['logical_product', 'zipped_product', 'tiled_product', 'flat_product', 'blocked_product', 'raked_product']);
      const result = say(engine, fn, [renderLayout(a), renderLayout(b)]);
      const plain = say(engine, 'logical_product', [renderLayout(a), renderLayout(b)]);
      if (result === null || plain === null) continue;
      const link = fn.startsWith('blocked') || fn.startsWith('raked') ? productByMode(a, b, fn.startsWith('blocked')) : product(a, b);
      const size = sizeOfTree(a.shape);
      // The logical product is (A, copies): its value at (index in A, index in B) is the definition.
      result.table.forEach((value, i) => assert.equal(plain.table[(link.a(i) ?? -1) + size * (link.b(i) ?? -1)], value, `${fn} ${renderLayout(a)} ${renderLayout(b)} at ${i}`));
      checked += 1;
    }
    assert.ok(checked > 100, `${checked}`);
  });

  test('links of inverses lead back', () => {
    for (const text of ['(4,8):(8,1)', '((2,4),8):((1,16),2)', '(2,3):(3,1)']) {
      const a = parseLayout(text)!, right = say(engine, 'right_inverse', [text])!, left = say(engine, 'left_inverse', [text])!;
      const link = inverse(right.table, sizeOfTree(a.shape));
      right.table.forEach((_, i) => assert.equal(valueAt(a, link.a(i) ?? -1), i));
      const back = inverse(left.table, sizeOfTree(a.shape));
      for (let i = 0; i < sizeOfTree(a.shape); ++i) assert.equal(back.a(valueAt(a, i)), i);
    }
  });

  test('every function of the engine is in the menu, and begins with arguments that have an answer', () => {
    for (const op of OPERATIONS) {
      const fn = op.fn === '' ? 'crd2idx' : op.fn;
      const { answer } = engine.ask({ do: 'layout', fn, args: op.begin, table: false });
      assert.equal(answer['error'], undefined, `${op.fn} ${op.begin}: ${JSON.stringify(answer)}`);
    }
    for (const fn of ['coalesce', 'composition', 'complement', 'logical_divide', 'zipped_divide', 'tiled_divide', 'flat_divide', 'logical_product', 'zipped_product', 'tiled_product', 'flat_product', 'blocked_product', 'raked_product', 'right_inverse', 'left_inverse', 'nullspace', 'swizzle', 'crd2idx', 'idx2crd', 'size', 'cosize'])
      assert.ok(operation(fn) !== undefined, fn);
  });

  test('presets have answers', () => {
    for (const { title, set } of PRESETS) {
      const call = splitCall(set['q'] ?? '');
      const { answer } = engine.ask({ do: 'layout', fn: call.fn === '' ? 'crd2idx' : call.fn, args: call.args, table: false });
      assert.equal(answer['error'], undefined, title);
    }
  });

  test('swizzles: what is above the period stays', () => {
    for (const text of ['2,0,3', '3,1,3', '1,2,-1', '0,0,0']) {
      const s = parseSwizzle(text)!;
      const { table } = say(engine, 'swizzle', [s.bits, s.base, s.shift])!;
      assert.equal(table.length, period(s));
      assert.equal(writeSwizzle(s), text);
      assert.deepEqual(Array.from({ length: 3 * period(s) }, (_, i) => swizzled(table, swizzled(table, i))), Array.from({ length: 3 * period(s) }, (_, i) => i));
      assert.equal(sizeOfTree(parseLayout(plainText(s))!.shape), period(s));
      const { table: twice } = say(engine, 'swizzle', [s.bits, s.base + 1, s.shift])!;
      for (let i = 0; i < period(s); ++i) assert.equal(twice[2 * i], 2 * swizzled(table, i)); // one bit further up
    }
    for (const text of ['', '1,2', 'a,0,3', '-1,0,3', '1,2,3,4']) assert.equal(parseSwizzle(text), null, text);
  });
});

test('places of pictures go there and back', () => {
  for (const sizes of [[5], [3, 4], [2, 3, 4], [2, 3, 2, 2], [1, 1]]) {
    const size = sizes.reduce((a, b) => a * b, 1);
    for (let i = 0; i < size; ++i) {
      const place = placeIn(sizes, i);
      assert.equal(indexIn(sizes, place), i);
      assert.ok(place.every((at, d) => at < (pictureShape(sizes)[d] ?? 0)));
    }
    for (let mode = 0; mode < sizes.length; ++mode) {
      const work = workOf(sizes, mode);
      for (let i = 0; i < size; ++i) assert.equal(work.index(work.thread(i), work.value(i)), i);
    }
  }
});

test('calls are taken apart and put together', () => {
  const cases: [string, string, string[]][] = [
    ['composition((6,2):(8,2), (4,3):(3,1))', 'composition', ['(6,2):(8,2)', '(4,3):(3,1)']],
    ['((2,4),8):((1,16),2)', '', ['((2,4),8):((1,16),2)']],
    ['zipped_divide((8,8):(8,1), <4:1, 2:1>)', 'zipped_divide', ['(8,8):(8,1)', '<4:1, 2:1>']],
    ['n: 1..9; coalesce((n,4):(4,1))', 'coalesce', ['(n,4):(4,1)']],
    ['swizzle(2, 0, 2)', 'swizzle', ['2', '0', '2']],
  ];
  for (const [text, fn, args] of cases) {
    const call = splitCall(text);
    assert.deepEqual([call.fn, call.args], [fn, args]);
    assert.equal(joinCall(call), text);
  }
  const divide = operation('zipped_divide')!, product = operation('blocked_product')!, complement = operation('complement')!;
  assert.deepEqual(argumentsFor(product, ['(2,2):(2,1)', '3:1'], divide), ['(2,2):(2,1)', '3:1']);
  assert.deepEqual(argumentsFor(complement, ['(2,2):(2,1)', '3:1'], divide), ['(2,2):(2,1)', '24']);
  assert.deepEqual(argumentsFor(divide, ['3', '0', '3'], operation('swizzle')), divide.begin);
});

test('texts that are no layouts of numbers', () => {
  for (const text of ['', '4', '(4,2)', '(4,2):(2)', '(n,4):(4,1)', '(4,2:2,1)', '4:1:1', '((2,2):(1,2)', '4:1 2']) assert.equal(parseLayout(text), null, text);
  assert.equal(renderTree(parseLayout(' ( 2 , ( 3 , 4 ) ) : ( -1 , ( 0 , 5 ) ) ')!.stride), '(-1,(0,5))');
  assert.deepEqual(leavesOf(parseLayout('4:-2')!.stride), [-2]);
  assert.equal(escapeTex('50%_{x}\\^~'), '50\\%\\_\\{x\\}\\textbackslash{}\\^{}\\~{}');
});

test('a TikZ picture has a node for each cell, and its colours are defined', () => {
  const d = drawn('(2,3,2):(3,1,6)', parseLayout('(2,3,2):(3,1,6)')!, null);
  const text = tikz(d, (i) => (i % 2 === 0 ? '#ffffff' : '#000000'), (c) => (c === '#ffffff' ? '#000000' : '#ffffff'), (i) => `${d.at(i)}_`);
  assert.equal(text.match(/\\node\[cell/g)?.length, 12);
  for (const name of new Set([...text.matchAll(/fill=(\w+)/g)].map((m) => m[1] ?? ''))) assert.ok(text.includes(`\\definecolor{${name}}{HTML}`), name);
  assert.equal(text.match(/\{(?=[^}]*$)/g), null); // braces are closed
  for (const [open, close] of [['{document}', '{document}'], ['{tikzpicture}', '{tikzpicture}']]) assert.ok(text.includes(`\\begin${open}`) && text.includes(`\\end${close}`));
  assert.match(text, /^\\documentclass\[tikz/);
  const large = drawn('(200,200):(1,200)', parseLayout('(200,200):(1,200)')!, null);
  assert.match(tikz(large, () => '#ffffff', () => '#000000', String), /4000 of 40000 cells/);
});
