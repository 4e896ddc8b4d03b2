// Boxes and text of a View are one, and how often it comes to an address is what a list of all its elements says.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { linesOf, rangeOf, Touches } from '../src/modes/shape/touches';
import { moved, type Plain, problemOf, readBoxes, rowMajor, textOf, tidy, withDim, withMask, withoutDim, withSize } from '../src/modes/shape/view';

const boxes = (text: string) => readBoxes(text) ?? assert.fail(text);

test('a text in the spelling of the boxes comes back', () => {
  for (const text of [
    'View(shape=(2, 2), strides=(2, 1))',
    'View(shape=(), strides=(), offset=7)',
    'View(shape=(3,), strides=(-1,), offset=2)',
    'View(shape=(2, 2, 2), strides=(4, 2, 1), mask=((0, 2), (0, 1), (0, 2)))',
    'n: 1..8; View(shape=(n, 3), strides=(3, 1), offset=n*3, mask=((0, n-1), (1, 3)))',
  ])
    assert.equal(textOf(boxes(text)), text);
});

test('other texts are left to the engine', () => {
  for (const text of ['(2,2)', 'View((2,2), (2,1), 0)', 'View(shape=(2,), strides=(1, 2))', 'View(shape=(2, 2), strides=(2, 1)).permute((1, 0))', 'View(shape=(2,), strides=(1,), mask=((0,),))', 'View(shape=(2,,), strides=(1,))', 'View(shape=(2,)'])
    assert.equal(readBoxes(text), null, text);
});

test('masks follow sizes, and are left out where they leave nothing out', () => {
  const two = boxes('View(shape=(2, 2), strides=(2, 1))');
  const masked = withMask(two, 0, { end: '1' });
  assert.equal(textOf(masked), 'View(shape=(2, 2), strides=(2, 1), mask=((0, 1), (0, 2)))');
  assert.equal(textOf(withSize(masked, 1, '5')), 'View(shape=(2, 5), strides=(2, 1), mask=((0, 1), (0, 5)))');
  assert.equal(textOf(withSize(masked, 0, '1')), 'View(shape=(1, 2), strides=(2, 1))');
  assert.equal(textOf(withMask(masked, 0, { end: '2' })), 'View(shape=(2, 2), strides=(2, 1))');
});

test('dimensions are added, removed, moved', () => {
  const two = boxes('View(shape=(2, 3), strides=(4, 1))');
  assert.equal(textOf(withDim(two, 'outside')), 'View(shape=(2, 2, 3), strides=(7, 4, 1))');
  assert.equal(textOf(withDim(two, 'inside')), 'View(shape=(2, 3, 2), strides=(4, 1, 1))');
  assert.equal(textOf(moved(two, 0, 1)), 'View(shape=(3, 2), strides=(1, 4))');
  assert.equal(textOf(moved(two, 0, -1)), textOf(two));
  assert.equal(textOf(withoutDim(two, 0)), 'View(shape=(3,), strides=(1,))');
  assert.equal(textOf(rowMajor(two)), 'View(shape=(2, 3), strides=(3, 1))');
});

test('what is no whole number is told', () => {
  assert.match(problemOf('two', false) ?? '', /'two' is no whole number/);
  assert.match(problemOf('', true) ?? '', /no whole number/);
  assert.match(problemOf('-1', false, 0) ?? '', /less than 0/);
  assert.match(problemOf('99999999999999999999', false) ?? '', /more digits/);
  assert.equal(problemOf('-3', false), null);
  assert.equal(problemOf('n*2', true), null);
  assert.deepEqual(['+07', '-0', ' 3 ', 'n + 1 '].map(tidy), ['7', '0', '3', 'n + 1']);
});

function simulated(view: Plain): number[] {
  let out = [view.offset];
  view.shape.forEach((_, d) => {
    const [begin, end] = view.mask[d] ?? [0, 0];
    out = out.flatMap((a) => Array.from({ length: Math.max(0, end - begin) }, (_, i) => a + (begin + i) * (view.strides[d] ?? 0)));
  });
  return out;
}

test('touches equal a list of all elements, on 2,000 random Views', () => {
  const seed = Number(process.env['STRATA_SEED'] ?? Date.now() % 2 ** 31);
  console.log(`seed ${seed}`);
  let state = seed >>> 0;
  const next = (n: number): number => ((state = (Math.imul(state, 1664525) + 1013904223) >>> 0), Math.floor((state / 2 ** 32) * n));
  for (let turn = 0; turn < 2000; ++turn) {
    const shape = Array.from({ length: next(5) }, () => 1 + next(5));
    const mask = shape.map((n): [number, number] => {
      if (next(3) > 0) return [0, n];
      const begin = next(n + 1);
      return [begin, begin + next(n - begin + 1)];
    });
    const view: Plain = { shape, strides: shape.map(() => next(13) - 6), offset: next(40) - 10, mask };
    const all = simulated(view);
    const range = rangeOf(view);
    assert.deepEqual(range, all.length === 0 ? null : [Math.min(...all), Math.max(...all)]);
    const touches = new Touches(view);
    for (let a = -80; a < 120; ++a) assert.equal(touches.get(a), all.filter((x) => x === a).length, `seed ${seed}: ${JSON.stringify(view)} at ${a}`);
  }
});

test('2^40 elements are counted where they are looked at', () => {
  const n = 2 ** 20;
  const full = (strides: readonly number[]): Touches => new Touches({ shape: [n, n], strides, offset: 0, mask: [[0, n], [0, n]] });
  assert.equal(full([n, 1]).get(2 ** 40 - 1), 1);
  assert.equal(full([n, 1]).get(2 ** 40), 0);
  assert.equal(full([0, 1]).get(5), n);
  assert.equal(full([1, 1]).get(1000), 1001);
  assert.ok(Number.isNaN(full([1, 1]).get(n)));
});

test('lines of a cache', () => {
  assert.equal(linesOf([0, 15, 16, NaN, -1], 16), 3);
});
