// An expression's text in parts, and rewrites found again in the whole.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { drawnOrder, freeName, movedVar, nameProblem, readParts, renamed, textOf } from '../src/modes/expression/parts';
import { wholes } from '../src/modes/expression/replay';

const parts = (text: string) => readParts(text) ?? assert.fail(text);

test('a text comes back from its parts', () => {
  for (const text of ['1 + 2 * 3', 'ridx0: 0..2; ridx1: 0..1; ridx0*2 + ridx1', 'i: -4..7; i//2; valid i < 3 and i > 0', 'i: 0..7; j: 0..7; i - j; valid i >= j; assume i % 2 == 0; assume j != 3'])
    assert.equal(textOf(parts(text)), text);
  assert.equal(textOf(parts('i: 0 .. 3\nmin(i,\n2)\nvalid (i < 2)')), 'i: 0..3; min(i,\n2); valid (i < 2)');
});

test('texts of other kinds are left to the engine', () => {
  for (const text of ['', '(2,2).permute(1,0)', 'View(shape=(2, 2), strides=(2, 1))', '((2,4),8):((1,16),2)', 'a: f32[4]; b = a + 1', 'i: 0..n; i', 'i: 0..3; i; i + 1', 'valid i'])
    assert.equal(readParts(text), null, text);
});

test('names change wherever they stand, whole words alone', () => {
  const some = parts('i: 0..7; i2: 0..1; i + i2*i; valid i < 3; assume i != 2');
  assert.equal(textOf(renamed(some, 'i', 'row')), 'row: 0..7; i2: 0..1; row + i2*row; valid row < 3; assume row != 2');
  assert.equal(freeName(parts('i: 0..3; i + j')), 'k');
  assert.equal(nameProblem('row', ['col']), null);
  assert.match(nameProblem('2x', []) ?? '', /no name/);
  assert.match(nameProblem('i', ['i']) ?? '', /already/);
  assert.equal(textOf(movedVar(parts('i: 0..3; j: 0..4; i*j'), 0, 1)), 'j: 0..4; i: 0..3; i*j');
});

test('the first variable is down, the last one across', () => {
  assert.deepEqual(Object.keys(drawnOrder({ a: [0, 1], b: [0, 1] })), ['a', 'b']);
  assert.deepEqual(Object.keys(drawnOrder({ a: [0, 1], b: [0, 1], c: [0, 1], d: [0, 1] })), ['b', 'c', 'a', 'd']);
});

test('a rewrite is found again in the whole, whatever the order of its terms', () => {
  const steps = [
    { before: '(a+(b*10))%10', after: 'a%10' },
    { before: 'c<8', after: '1' },
    { before: 'a%10', after: 'a-0*10' },
    { before: '(4*b+3)//(4*1)', after: '(b+3//4)//1' },
    { before: 'b//1', after: 'b' },
  ];
  assert.deepEqual(wholes('(10*b + a) % 10 + (b*4+3)//4', steps), ['a%10 + (b*4 + 3)//4', null, 'a + (b*4 + 3)//4', 'a + b//1', 'a + b']);
});

test('what is written is the value of what was read', () => {
  const values = { x: 7, y: -3, z: 2 };
  const js = (text: string): number => {
    const floor = text.replace(/\/\//g, '/');
    return Number(new Function('x', 'y', 'z', `return ${floor}`)(values.x, values.y, values.z));
  };
  for (const text of ['x - (y - (z - 1))', '-(x - 3*y)*2 + z', '2*(x + y)*(z - x)', '-x*y*z - -4', 'x*(y*(z+1))']) {
    const [whole] = wholes(`${text} + q`, [{ before: 'q', after: '0' }]);
    assert.ok(whole !== null && whole !== undefined, text);
    assert.equal(js(whole), js(text), `${text} became ${whole}`);
  }
});
