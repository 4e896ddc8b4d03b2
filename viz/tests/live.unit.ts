// Traces are read line by line, graphs are laid out in layers.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { heldBlocks, stacked } from '../src/modes/live/held';
import { layered } from '../src/modes/live/layered';
import { livesOf } from '../src/modes/live/lives';
import { Raster } from '../src/modes/live/raster';
import { chromeTrace, heldOver, totalsOf, Trace } from '../src/modes/live/trace';
import { bytesText, timeText } from '../src/modes/live/units';
import { Random } from './random-requests';

const HEAD = '{"event":"trace","at":0,"thread":1,"format":1,"strata":"0.1.0","pid":7,"program":"p"}\n';
const KERNEL = (n: number): string => `{"event":"kernel","kernel":${n},"at":5,"ns":10,"thread":1,"device":"LLVM","name":"k${n}","ast":[],"files":[],"opts":[],"axes":"","uops":"","source":"","proof":{"accesses":0,"by_bounds":0,"by_algebra":0,"text":""},"passes":{},"buffers":[],"operations":8,"bytes":4}\n`;

test('every node is below its sources, and nodes of a layer do not meet', () => {
  for (const seed of [1, 2, 3]) {
    const random = new Random(seed);
    const count = 400;
    const sources = Array.from({ length: count }, (_, n) => Array.from({ length: n === 0 ? 0 : random.below(3) }, () => random.below(n)));
    const { x, layer, layers } = layered({ count, sources: (n) => sources[n] ?? [] });
    sources.forEach((list, n) => list.forEach((s) => assert.ok((layer[s] ?? 0) < (layer[n] ?? 0), `seed ${seed}: ${s} -> ${n}`)));
    assert.equal(layers.flat().length, count);
    for (const nodes of layers) for (let i = 1; i < nodes.length; ++i) assert.ok((x[nodes[i] ?? 0] ?? 0) - (x[nodes[i - 1] ?? 0] ?? 0) >= 1 - 1e-6, `seed ${seed}`);
  }
});

test('ten thousand nodes are laid out within two seconds', () => {
  const count = 10_000;
  for (const near of [2, 100, 10_000]) {
    const random = new Random(5);
    const sources = Array.from({ length: count }, (_, n) => (n === 0 ? [] : [n - 1 - random.below(Math.min(n, near)), n - 1 - random.below(Math.min(n, near))]));
    const begin = performance.now();
    layered({ count, sources: (n) => sources[n] ?? [] });
    const took = performance.now() - begin;
    console.log(`10,000 nodes, edges at most ${near} long: ${Math.round(took)} ms`);
    assert.ok(took < 2000);
  }
});

test('a trace may come in any pieces', () => {
  const text = HEAD + KERNEL(1) + '{"event":"run","at":20,"thread":1,"kernel":1,"ns":5,"threads":2}\n{"event":"end","at":30,"thread":1}\n';
  for (const step of [1, 7, 1000]) {
    const trace = new Trace();
    for (let at = 0; at < text.length; at += step) trace.push(text.slice(at, at + step));
    trace.finish();
    assert.deepEqual([trace.runs.length, trace.kernels.size, trace.ended, trace.last, trace.faults], [1, 1, true, 30, []]);
  }
});

test('lines that are none are told by their number, and the others are read', () => {
  const trace = new Trace();
  trace.push(HEAD + 'no JSON\n{"at":1}\n{"event":"nodes","graph":9,"nodes":[]}\n{"event":"of tomorrow","at":3}\n' + KERNEL(2) + '{"event":"ru');
  trace.finish();
  assert.equal(trace.kernels.size, 1);
  assert.deepEqual(trace.faults, ['line 2: it is no JSON', 'line 3: it has no "event"', 'line 4: nodes: there is no graph 9', 'line 6: the last line is not whole']);
});

test('what is no trace is refused', () => {
  const trace = new Trace();
  trace.push('{"a":1}\n');
  assert.equal(trace.head, null);
  const newer = new Trace();
  newer.push(HEAD.replace('"format":1', '"format":2'));
  assert.match(newer.faults[0] ?? '', /format 2 is not 1/);
});

test('replays are runs, and totals count them', () => {
  const trace = new Trace();
  trace.push(HEAD + KERNEL(1) + KERNEL(2) + '{"event":"capture","capture":1,"at":10,"name":"f","steps":[{"kernel":1,"places":[]},{"kernel":2,"places":[]}],"places":[]}\n');
  for (const at of [100, 200]) trace.push(`{"event":"replay","at":${at},"thread":1,"capture":1,"ns":50,"threads":2,"marks":[0,10,50]}\n`);
  assert.deepEqual(trace.runs.map(({ kernel, at, ns }) => [kernel, at, ns]), [[1, 100, 10], [2, 110, 40], [1, 200, 10], [2, 210, 40]]);
  assert.deepEqual(totalsOf(trace).map(({ kernel, runs, ns }) => [kernel.kernel, runs, ns]), [[2, 2, 80], [1, 2, 20]]);
  const { traceEvents } = chromeTrace(trace) as { traceEvents: { ph: string; ts: number; dur: number }[] };
  assert.equal(traceEvents.filter((e) => e.ph === 'X').length, 4 + 2);
  assert.equal(traceEvents.find((e) => e.ph === 'X')?.ts, 0.1);
});

test('blocks are drawn where nothing else is held', () => {
  const trace = new Trace();
  trace.push(HEAD);
  const random = new Random(9);
  const live: number[] = [];
  for (let at = 1; at < 400; ++at) {
    if (live.length > 0 && random.below(2) === 0) trace.push(`{"event":"free","at":${at},"thread":1,"block":${live.splice(random.below(live.length), 1)[0]}}\n`);
    else {
      live.push(at * 64);
      trace.push(`{"event":"allocate","at":${at},"thread":1,"block":${at * 64},"bytes":${64 * (1 + random.below(9))}}\n`);
    }
  }
  const placed = stacked(heldBlocks(trace));
  for (const a of placed)
    for (const b of placed)
      if (a !== b && a.block.from < b.block.to && b.block.from < a.block.to) assert.ok(a.base + a.block.bytes <= b.base || b.base + b.block.bytes <= a.base);
  assert.equal(heldOver(trace.memory).at(-1)?.held, heldBlocks(trace).filter((b) => live.includes(b.block)).reduce((sum, b) => sum + b.bytes, 0));
});

test('a block holds a result from the item that writes it first to the one that reads it last', () => {
  const trace = new Trace();
  const item = (outputs: number[], inputs: number[]): object => ({ kind: 'kernel', outputs, inputs, computes: outputs, why: 'shared', text: '' });
  const lines = [
    { event: 'graph', graph: 1, count: 5, items: 4, roots: [4], files: [] },
    { event: 'nodes', graph: 1, from: 0, nodes: Array.from({ length: 5 }, () => ({ op: 'BinaryOps.ADD', shape: [2] })) },
    { event: 'schedule', graph: 1, from: 0, items: [item([1], [0]), item([2], [1]), item([2], [0]), item([3], [2]), item([4], [3])] },
    { event: 'plan', graph: 1, blocks: [64, 64], nodes: [[1, 0], [2, 1], [3, 0]], peak: 128, unshared: 192 },
  ];
  trace.push(HEAD + lines.map((l) => JSON.stringify(l)).join('\n') + '\n');
  const graph = trace.graphs.get(1);
  assert.ok(graph !== undefined);
  assert.deepEqual(livesOf(graph).map(({ node, block, from, to }) => [node, block, from, to]), [[1, 0, 0, 1], [2, 1, 1, 3], [3, 0, 3, 4]]);
});

test('lines of pixels end at the edges of the picture, whatever their ends', () => {
  const [width, height] = [40, 30], random = new Random(11);
  for (let turn = 0; turn < 2000; ++turn) {
    const image = { width, height, data: new Uint8ClampedArray(width * height * 4) } as unknown as ImageData;
    const raster = new Raster(image, 0xffffffff);
    const end = (): number => random.below(200) - 80 + random.below(100) / 100;
    const [x1, y1, x2, y2] = [end(), end(), end(), end()];
    raster.line(x1, y1, x2, y2, 0xff000000);
    const pixels = new Uint32Array(image.data.buffer);
    const steps = Math.max(1, Math.ceil(Math.max(Math.abs(x2 - x1), Math.abs(y2 - y1))));
    const wanted = new Set<number>(), middle = new Set<number>();
    for (let k = 0; k <= steps; ++k) {
      const [x, y] = [x1 + ((x2 - x1) / steps) * k, y1 + ((y2 - y1) / steps) * k];
      if (x < 0 || y < 0 || x > width - 1 || y > height - 1) continue;
      middle.add(Math.round(y) * width + Math.round(x));
      // Half way between two pixels either is right.
      for (const by of [-1e-6, 1e-6]) for (const across of [-1e-6, 1e-6]) wanted.add(Math.round(y + by) * width + Math.round(x + across));
    }
    pixels.forEach((pixel, at) => pixel === 0xff000000 && !wanted.has(at) && assert.fail(`turn ${turn}: a pixel beside the line`));
    const drawn = pixels.reduce((sum, pixel) => sum + (pixel === 0xff000000 ? 1 : 0), 0);
    assert.ok(middle.size - drawn <= 2, `turn ${turn}: ${drawn} of ${middle.size} pixels`);
  }
});

test('numbers have units', () => {
  assert.deepEqual([timeText(0), timeText(1234), timeText(12_345_678), bytesText(1536), bytesText(3)], ['0 ns', '1.23 µs', '12.3 ms', '1.50 KiB', '3 bytes']);
});
