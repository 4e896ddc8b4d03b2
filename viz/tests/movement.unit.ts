import assert from 'node:assert/strict';
import { test } from 'node:test';
import { opText, tuple } from '../src/modes/movement/chain';
import { leavers, onTheWay, placesOf } from '../src/modes/movement/places';

test('tuples are Python\'s', () => {
  assert.equal(tuple([1]), '(1,)');
  assert.equal(tuple([[1, 1], [0, 2]]), '((1, 1), (0, 2))');
  assert.equal(opText(['permute', [1, 0]]), '.permute((1, 0))');
});

test('elements of a box stand apart and inside of it', () => {
  for (const shape of [[], [5], [2, 3], [2, 2, 3], [2, 3, 2, 2], [2, 2, 2, 2, 2]]) {
    const count = shape.reduce((a, b) => a * b, 1);
    const places = placesOf(shape, 800);
    const seen = new Set<string>();
    for (let i = 0; i < count; ++i) {
      const [x, y] = places.at(i);
      assert.ok(x >= 0 && y >= 0 && x + places.cell <= places.width + 1e-9 && y + places.cell <= places.height + 1e-9, `${shape} ${i}`);
      seen.add(`${x},${y}`);
    }
    assert.equal(seen.size, count);
  }
});

test('elements begin where they were and end where they are', () => {
  const before = placesOf([2, 3], 400), after = placesOf([3, 2], 400);
  const from = [0, 3, 1, 4, 2, NaN];
  const begin = onTheWay(before, after, from, 0), end = onTheWay(before, after, from, 1);
  assert.deepEqual([begin[1]?.x, begin[1]?.y], [...before.at(3)]);
  assert.deepEqual([end[1]?.x, end[1]?.y], [...after.at(1)]);
  assert.equal(begin[5]?.opacity, 0);
  assert.deepEqual(leavers(6, from), [5]);
});
