// What the mode Kernel computes beside the engine: colours, lists of Opts, links, trees, texts of accesses, WebGPU's bindings.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { boxTextOf } from '../src/modes/kernel/access';
import type { Access, Axis, KernelParts, Op } from '../src/modes/kernel/answer';
import { coloured } from '../src/modes/kernel/colouring';
import { Links } from '../src/modes/kernel/links';
import { optsOf, restOf, stemOf, textOfOpts, withMore, without } from '../src/modes/kernel/lists';
import { flat, treeOf } from '../src/modes/kernel/tree';
import { bindingsOf, differenceOf, groupsOf, whyNot } from '../src/modes/kernel/webgpu';
import { accessesOf } from '../src/modes/film/replay';
import { iterationsOf } from '../src/modes/film/iterations';

const op = (name: string, srcs: number[] = [], more: Partial<Op> = {}): Op => ({ op: name, dtype: 'i32', arg: null, srcs, text: '', loop: null, ...more });

/** for 3: for 4: load data1, vector of 2; store data0. */
const OPS: Op[] = [
  op('CONST', [], { arg: '0' }), op('CONST', [], { arg: '3' }), op('CONST', [], { arg: '4' }), op('DEFINE_GLOBAL'), op('DEFINE_GLOBAL'),
  op('LOOP', [0, 1], { counter: 'ridx0' }),
  op('LOOP', [0, 2], { loop: 5, counter: 'ridx1' }),
  op('LOAD', [4, 6], { loop: 6, dtype: 'f32x2' }),
  op('ENDLOOP', [6], { loop: 6 }),
  op('STORE', [3, 5, 7], { loop: 5 }),
  op('ENDLOOP', [5], { loop: 5 }),
];
const axis = (n: number, kind: 'output' | 'reduce', loop: number, more: [string, number][], counter: number): Axis => ({
  axis: n, kind, size: loop, padded: false, dims: [0], sizes: [loop],
  segments: [{ begin: 0, size: loop, parts: [{ kind: 'loop', size: loop }, ...more.map(([k, size]) => ({ kind: k, size }))] }],
  counters: [{ name: `ridx${n}`, op: counter }],
});
const KERNEL: KernelParts = {
  name: 'k', axes: '', uops: '', source: 'a\nb\nc\n', ops: OPS, lines: [[5], [6, 7], [9]],
  loops: [axis(0, 'output', 3, [], 5), axis(1, 'reduce', 4, [['unroll', 2]], 6)],
  proof: { accesses: 2, by_bounds: 2, by_algebra: 0 }, accesses: [],
};

test('the pieces of a coloured line are the line', () => {
  for (const line of [
    '  for (int ridx0 = 0; ridx0 < 0x10; ridx0++) { // all of it',
    '  %load5 = load <8 x float>, ptr %data1.at, align 4',
    '@group(0) @binding(1) var<storage, read> data1: array<f32>;',
    'acc0 = fma(1.5e-3f, val0, -.5f); "é"', '; a note', '', 'a ; b',
  ])
    assert.equal(coloured(line).map((p) => p.text).join(''), line);
  const kinds = Object.fromEntries(coloured('  for (int i = 8; i < max(n, 2.5f)) // x').map((p) => [p.text, p.colour]));
  assert.deepEqual([kinds['for'], kinds['int'], kinds['8'], kinds['max'], kinds['2.5f'], kinds['// x']], ['word', 'type', 'number', 'call', 'number', 'note']);
  assert.equal(coloured('%x.1 = fadd')[0]?.colour, 'name');
});

test('lists of Opts: auto, none, by hand', () => {
  assert.deepEqual(optsOf('auto', ['LANES 1 8']), ['LANES 1 8']);
  assert.deepEqual(optsOf('none', ['LANES 1 8']), []);
  assert.deepEqual(optsOf('UPCAST 0 4, LANES 1 16', []), ['UPCAST 0 4', 'LANES 1 16']);
  assert.equal(without(['UPCAST 0 4', 'LANES 1 16'], 0), 'LANES 1 16');
  assert.equal(without(['UPCAST 0 4'], 0), 'none');
  assert.equal(withMore([], 'PARALLEL 0'), 'PARALLEL 0');
  assert.equal(textOfOpts(['A 1', 'B 2']), 'A 1, B 2');
  assert.equal(withMore(['LANES 1 8'], 'SPLITREDUCE 2 4'), 'SPLITREDUCE 2 4, LANES 1 8');
  assert.equal(withMore(['LANES 1 8'], 'PACK 1 32 2'), 'PACK 1 32 2, LANES 1 8');
  const opts = ['UPCAST 0 4', 'LANES 1 8 @1', 'PARALLEL 0', 'REORDER 1 0', 'REORDER 1 0 2'];
  assert.deepEqual(opts.map(stemOf), ['UPCAST 0', 'LANES 1 @1', 'PARALLEL', 'REORDER', 'REORDER']);
  assert.deepEqual(opts.map((opt) => restOf(opt, stemOf(opt))), ['4', '8', '0', '1 0', '1 0 2']);
});

test('a UOp, a line and a loop light each other', () => {
  const links = new Links(KERNEL);
  const ofOp = links.lit({ from: 't', op: 7 });
  assert.deepEqual([[...ofOp.ops], [...ofOp.lines], [...ofOp.loops], ofOp.body], [[7], [1], [6], null]);
  const ofLine = links.lit({ from: 't', line: 1 });
  assert.deepEqual([[...ofLine.ops], [...ofLine.lines]], [[6, 7], [1]]);
  const ofLoop = links.lit({ from: 't', loop: 6 });
  assert.deepEqual([[...ofLoop.loops], [...ofLoop.lines], ofLoop.body], [[6], [1], [6, 8]]);
  assert.equal(links.lit(null).ops.size, 0);
});

test('the tree: loops inside of loops, what is written out under its axis', () => {
  const rows = flat(treeOf(KERNEL)).map(({ node, depth }) => `${depth} ${node.kind} ${node.size} ${node.axis}`);
  assert.deepEqual(rows, ['0 loop 3 0', '1 reduce 4 1', '2 unroll 2 1']);
  const special: KernelParts = { ...KERNEL, ops: [op('SPECIAL', [], { arg: "('gidx0', 0, 64)" }), op('CONST', [], { arg: '0' })], loops: [] };
  assert.deepEqual(flat(treeOf(special)).map(({ node }) => `${node.kind} ${node.size} ${node.name}`), ['parallel 64 gidx0']);
});

test('an access as a text of the box', () => {
  const access: Access = { op: 7, ops: [7], buffer: 1, kind: 'load', index: '((ridx0*4)+unroll_a1s0p1)', valid: '(ridx0<n)', min: 0, max: 9, size: 12, by: 'algebra' };
  assert.equal(boxTextOf(KERNEL, access, { n: [1, 9], m: [0, 1] }), 'n: 1..9; ridx0: 0..2; unroll_a1s0p1: 0..1; ((ridx0*4)+unroll_a1s0p1); valid (ridx0<n)');
  assert.equal(boxTextOf(KERNEL, { ...access, index: '3', valid: '1' }, {}), '3');
});

test('iterations of loops at each access; none where they are not known', () => {
  const triples: number[] = [];
  for (let i = 0; i < 3; ++i) {
    for (let j = 0; j < 4; ++j) triples.push(7, 1, j, 7, 1, j + 1);
    triples.push(9, 0, i, 9, 0, i + 1);
  }
  const iterations = iterationsOf(KERNEL, accessesOf(triples));
  assert.ok(iterations !== null);
  assert.deepEqual([iterations.iteration(5, 0), iterations.iteration(6, 0), iterations.iteration(6, 3), iterations.iteration(6, 8), iterations.iteration(5, 29)], [0, 0, 1, null, 2]);
  assert.equal(iterationsOf(KERNEL, accessesOf(triples.slice(3))), null);
  const ended = OPS.map((o, row) => (row === 1 ? op('DEFINE_VAR', [], { arg: "Variable('n', 1, 9)" }) : o));
  assert.equal(iterationsOf({ ...KERNEL, ops: ended }, accessesOf(triples)), null);
  assert.equal(iterationsOf({ ...KERNEL, ops: ended }, accessesOf(triples), { n: 3 })?.iteration(5, 29), 2);
  assert.equal(iterationsOf(KERNEL, accessesOf([...triples, 7, 1, 0])), null);
});

const WGSL = `@group(0) @binding(0) var<storage, read_write> data0: array<f32>;
@group(0) @binding(1) var<storage, read> data1: array<i32>;
@group(0) @binding(2) var<uniform> n: i32;
@compute @workgroup_size(64)
fn k() {
  let gidx0: i32 = i32((idx.x));
}`;

test("WGSL's bindings and groups", () => {
  assert.deepEqual(bindingsOf(WGSL).map((b) => `${b.binding} ${b.space} ${b.name} ${b.type}`), ['0 storage data0 f32', '1 read-only-storage data1 i32', '2 uniform n i32']);
  const special = (size: string): Op[] => [op('SPECIAL', [], { arg: `('gidx0', 0, ${size})` })];
  assert.equal(groupsOf({ ops: special('130'), source: WGSL }), 3);
  assert.equal(groupsOf({ ops: special('130'), source: WGSL.replace('idx.x', 'gid.x') }), 130);
  assert.equal(groupsOf({ ops: [], source: WGSL }), 1);
  assert.equal(groupsOf({ ops: special('n'), source: WGSL }), null);
  assert.equal(whyNot({ ops: special('64'), source: WGSL }, false), null);
  assert.match(whyNot({ ops: special('64'), source: WGSL }, true) ?? '', /several/);
  assert.match(whyNot({ ops: special('64'), source: WGSL.replace('array<i32>', 'array<f16>') }, false) ?? '', /data1 holds f16/);
  assert.match(whyNot({ ops: special('n'), source: WGSL }, false) ?? '', /symbolic/);
  assert.match(whyNot({ ops: special('99999999'), source: WGSL }, false) ?? '', /65535/);
});

test('the greatest difference', () => {
  assert.deepEqual(differenceOf([1, NaN, Infinity, -0], [1, NaN, Infinity, 0]), { most: 0, at: -1 });
  assert.deepEqual(differenceOf([1, 2, 4], [1, 2.5, 3]), { most: 1, at: 2 });
  assert.deepEqual(differenceOf([1, NaN], [1, 2]), { most: Infinity, at: 1 });
});
