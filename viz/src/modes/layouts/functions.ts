// The functions of the layout algebra: their arguments, what they promise, and values to begin with.
export type Family = 'alone' | 'compose' | 'divide' | 'product' | 'inverse' | 'swizzle' | 'value';

export interface Operation {
  readonly fn: string;
  readonly title: string;
  readonly family: Family;
  readonly args: readonly string[];
  /** What stands in an argument that the box does not have yet. */
  readonly begin: readonly string[];
  /** The contract; R is the result, c an index or coordinate. */
  readonly promise: string;
}

const A = '(8,8):(8,1)';
const row = (fn: string, family: Family, args: string, begin: readonly string[], promise: string): Operation => ({
  fn, title: fn === '' ? 'a layout alone' : fn, family, args: args.split(' '), begin, promise,
});

export const OPERATIONS: readonly Operation[] = [
  row('', 'alone', 'A', [A], 'R = A'),
  row('coalesce', 'alone', 'A', ['(2,(1,6)):(1,(6,2))'], 'R(i) = A(i) for every index i, with the fewest modes'),
  row('composition', 'compose', 'A B', ['(6,2):(8,2)', '(4,3):(3,1)'], 'R(c) = A(B(c)) for each coordinate c of B'),
  row('complement', 'compose', 'A until', ['(2,2):(1,6)', '24'], '(A, R) covers whole periods of A up to the bound, each integer once'),
  row('logical_divide', 'divide', 'A B', ['16:1', '(2,2):(1,4)'], 'R = A o (B, complement(B, |A|)): mode 0 a tile, mode 1 the tiles'),
  row('zipped_divide', 'divide', 'A B', ['16:1', '(2,2):(1,4)'], 'R = ((tile), (rest))'),
  row('tiled_divide', 'divide', 'A B', ['16:1', '(2,2):(1,4)'], 'R = ((tile), rest, rest, ...)'),
  row('flat_divide', 'divide', 'A B', ['16:1', '(2,2):(1,4)'], 'R = (tile, ..., rest, ...)'),
  row('logical_product', 'product', 'A B', ['(2,2):(4,1)', '6:1'], 'R = (A, complement(A, |A| cosize(B)) o B): A, repeated as B says'),
  row('zipped_product', 'product', 'A B', ['(2,2):(4,1)', '6:1'], 'R = ((A), (copies))'),
  row('tiled_product', 'product', 'A B', ['(2,2):(4,1)', '(2,3):(1,2)'], 'R = ((A), copies, ...)'),
  row('flat_product', 'product', 'A B', ['(2,2):(4,1)', '(2,3):(1,2)'], 'R = (A, ..., copies, ...)'),
  row('blocked_product', 'product', 'A B', ['(2,5):(5,1)', '(3,4):(1,3)'], 'mode by mode (A, B): a copy of A stays together'),
  row('raked_product', 'product', 'A B', ['(2,5):(5,1)', '(3,4):(1,3)'], 'mode by mode (B, A): the copies of A are interleaved'),
  row('right_inverse', 'inverse', 'A', ['(4,8):(8,1)'], 'A(R(i)) = i, for the longest R'),
  row('left_inverse', 'inverse', 'A', ['(4,8):(8,1)'], 'R(A(i)) = i'),
  row('nullspace', 'inverse', 'A', ['(4,8):(0,1)'], 'A(R(i)) = 0'),
  row('swizzle', 'swizzle', 'bits base shift', ['3', '0', '3'], 'i -> i ^ (bits of i from base + shift, moved down by shift)'),
  row('crd2idx', 'value', 'A coordinate', ['((2,4),8):((1,16),2)', '((1,2),3)'], 'the value A(coordinate)'),
  row('idx2crd', 'value', 'A index', ['((2,4),8):((1,16),2)', '39'], 'the coordinate of an index'),
  row('size', 'value', 'A', [A], 'how many coordinates A has'),
  row('cosize', 'value', 'A', [A], 'how far the values of A reach'),
];

export const operation = (fn: string): Operation | undefined => OPERATIONS.find((o) => o.fn === fn);

/** What is there already, and what an operation begins with for what is not. */
export function argumentsFor(op: Operation, have: readonly string[], before: Operation | undefined): string[] {
  const kept = before !== undefined && before.family === op.family;
  return op.begin.map((begin, i) => {
    const sameKind = kept || (i === 0 && op.args[0] === 'A' && before?.args[0] === 'A') || (op.args[i] === 'B' && before?.args[i] === 'B');
    const text = have[i] ?? '';
    return sameKind && text !== '' ? text : begin;
  });
}

export interface Preset {
  readonly title: string;
  readonly set: Readonly<Record<string, string>>;
}

/** Layouts that occur, each with what is to be seen in it. */
export const PRESETS: readonly Preset[] = [
  { title: 'a hierarchical layout', set: { q: '((2,4),8):((1,16),2)' } },
  { title: 'three modes', set: { q: '(4,6,3):(6,1,24)' } },
  { title: 'composition that splits a mode', set: { q: 'composition((6,2):(8,2), (4,3):(3,1))' } },
  { title: 'tiles of a vector', set: { q: 'zipped_divide(24:1, (2,2):(1,6))' } },
  { title: 'a blocked product', set: { q: 'blocked_product((2,5):(5,1), (3,4):(1,3))' } },
  { title: 'a raked product', set: { q: 'raked_product((2,5):(5,1), (3,4):(1,3))' } },
  { title: 'shared memory read by columns: 32-way', set: { q: '(32,32):(32,1)', colour: 'bank' } },
  { title: 'the same, swizzled', set: { q: '(32,32):(32,1)', colour: 'bank', swz: '5,0,5' } },
  { title: 'the same, padded', set: { q: '(32,32):(33,1)', colour: 'bank' } },
  { title: 'mma 16x8x16, accumulators (C)', set: { q: '((4,8),(2,2)):((32,1),(16,8))', colour: 'thread', rows: '16' } },
  { title: 'mma 16x8x16, A', set: { q: '((4,8),(2,2,2)):((32,1),(16,8,128))', colour: 'thread', rows: '16', bytes: '2' } },
  { title: 'mma 16x8x16, B', set: { q: '((4,8),(2,2)):((16,1),(8,64))', colour: 'thread', rows: '8', bytes: '2' } },
  { title: 'wgmma 64x16, accumulators', set: { q: '((4,8,4),(2,2,2)):((128,1,16),(64,8,512))', colour: 'thread', rows: '64' } },
  { title: 'ldmatrix x4: rows that threads name', set: { q: '(32,8):(8,1)', colour: 'thread', rows: '8', bytes: '2' } },
  { title: 'threads side by side, four values each', set: { q: '(32,4):(4,1)', colour: 'both' } },
  { title: 'threads that share cache lines', set: { q: '(8,16):(1,8)', colour: 'line', bytes: '4' } },
];
