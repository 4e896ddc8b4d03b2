// Twelve puzzles. A solution is any text that the engine proves equal to the goal; `solutions` and `miss` are for tests.
export interface Puzzle {
  readonly id: string;
  readonly title: string;
  readonly task: string;
  readonly hint: string;
  readonly start: string;
  readonly goal: string;
  /** What else has to hold beside being equal or instead of it. */
  readonly rule?: 'no-conflict';
  readonly solutions: readonly [string, string];
  /** A near miss. */
  readonly miss: string;
}

export const PUZZLES: readonly Puzzle[] = [
  {
    id: 'transpose',
    title: 'Transposed',
    task: 'Twelve numbers lie in memory as three rows of four. Show them as four rows of three, rows and columns exchanged. Memory stays as it is.',
    hint: 'The shape is (4, 3). A step down is one address now, a step to the right is four.',
    start: 'View(shape=(3, 4), strides=(4, 1))',
    goal: '(3,4).permute(1,0)',
    solutions: ['View(shape=(4, 3), strides=(1, 4))', '(3,4).permute(1,0)'],
    miss: 'View(shape=(4, 3), strides=(3, 1))',
  },
  {
    id: 'repeat',
    title: 'One row, four times',
    task: 'Memory holds five numbers. Show four rows of them, all the same.',
    hint: 'A stride of 0 goes nowhere.',
    start: 'View(shape=(1, 5), strides=(5, 1))',
    goal: '(1,5).expand(4,5)',
    solutions: ['View(shape=(4, 5), strides=(0, 1))', '(1,5).expand(4,5)'],
    miss: 'View(shape=(4, 5), strides=(1, 1))',
  },
  {
    id: 'even-rows',
    title: 'Every second row',
    task: 'Of a matrix of six rows and four columns, show rows 0, 2 and 4.',
    hint: 'From one of these rows to the next there are two rows of four.',
    start: '(6,4)',
    goal: '(6,4).stride(2,1)',
    solutions: ['View(shape=(3, 4), strides=(8, 1))', '(6,4).stride(2,1)'],
    miss: 'View(shape=(3, 4), strides=(4, 1))',
  },
  {
    id: 'mirror',
    title: 'Backwards',
    task: 'Show eight numbers from the last to the first.',
    hint: 'A stride may be negative; then the first element is not at address 0.',
    start: '(8,)',
    goal: '(8,).flip(0)',
    solutions: ['View(shape=(8,), strides=(-1,), offset=7)', '(8,).flip(0)'],
    miss: 'View(shape=(8,), strides=(-1,), offset=8)',
  },
  {
    id: 'first-row',
    title: 'The first row alone',
    task: 'Of three rows of three, only the first row is valid. The shape stays (3, 3).',
    hint: 'A mask has a begin and an end for each dimension; the end is not part of it.',
    start: 'View(shape=(3, 3), strides=(3, 1))',
    goal: '(3,3).shrink((0,1),(0,3)).pad((0,2),(0,0))',
    solutions: ['View(shape=(3, 3), strides=(3, 1), mask=((0, 1), (0, 3)))', '(3,3).shrink((0,1),(0,3)).pad((0,2),(0,0))'],
    miss: 'View(shape=(3, 3), strides=(3, 1), mask=((0, 2), (0, 3)))',
  },
  {
    id: 'diagonal',
    title: 'The diagonal',
    task: 'Show the five numbers on the diagonal of a matrix of 5 by 5.',
    hint: 'One down and one to the right: how many addresses is that?',
    start: '(5,5)',
    goal: 'View(shape=(5,), strides=(6,))',
    solutions: ['View(shape=(5,), strides=(6,))', '(5,5).reshape(25).pad((0,5)).reshape(5,6).shrink((0,5),(0,1)).reshape(5)'],
    miss: 'View(shape=(5,), strides=(5,))',
  },
  {
    id: 'windows',
    title: 'Sliding windows',
    task: 'Eight numbers: show the six windows of three that slide over them, a row each. Nothing is copied.',
    hint: 'The next window begins one address later, and so does the next number of a window.',
    start: '(8,)',
    goal: 'View(shape=(6, 3), strides=(1, 1))',
    solutions: ['View(shape=(6, 3), strides=(1, 1))', '(1,8).expand(7,8).reshape(56).shrink((0,54)).reshape(6,9).shrink((0,6),(0,3))'],
    miss: 'View(shape=(6, 3), strides=(3, 1))',
  },
  {
    id: 'two-views',
    title: 'What two Views say',
    task: 'A matrix of 3 by 2, transposed and reshaped to (3, 2), takes two Views. Write their address as one expression of the row r and the column c.',
    hint: 'The upper View numbers the elements: 2*r + c. The lower one has rows of three: take that number apart by // 3 and % 3.',
    start: 'r: 0..2; c: 0..1; r*2 + c',
    goal: 'r: 0..2; c: 0..1; ((r*2 + c) % 3)*2 + (r*2 + c)//3',
    solutions: ['r: 0..2; c: 0..1; ((r*2 + c) % 3)*2 + (r*2 + c)//3', 'r: 0..2; c: 0..1; (2*r + c)*2 - 5*((2*r + c)//3)'],
    miss: 'r: 0..2; c: 0..1; ((r*2 + c) % 2)*3 + (r*2 + c)//2',
  },
  {
    id: 'write-index',
    title: 'Write the index',
    task: 'A loop i goes from 0 to 99 over a transposed matrix of 10 by 10. Which address does it read?',
    hint: 'The row is i // 10 and the column is i % 10; the matrix is transposed.',
    start: 'i: 0..99; i',
    goal: 'i: 0..99; (i % 10)*10 + i//10',
    solutions: ['i: 0..99; (i % 10)*10 + i//10', 'i: 0..99; i*10 - 99*(i//10)'],
    miss: 'i: 0..99; (i//10)*10 + i % 10',
  },
  {
    id: 'tile-loop',
    title: 'Tile this loop',
    task: 'One loop t from 0 to 63 walks over a matrix of 8 by 8, tile by tile: tiles of 4 by 4, two beside each other; rows of a tile one after the other. Which address is read in turn t?',
    hint: 't is four digits: the row of tiles t // 32, the column of tiles t // 16 % 2, the row inside t // 4 % 4, the column inside t % 4.',
    start: 't: 0..63; t',
    goal: 't: 0..63; (t//32*4 + t//4%4)*8 + t//16%2*4 + t%4',
    solutions: ['t: 0..63; (t//32*4 + t//4%4)*8 + t//16%2*4 + t%4', 't: 0..63; t//32*32 + (t%16//4)*8 + (t%32//16)*4 + t%4'],
    miss: 't: 0..63; (t//32*4 + t//4%4)*8 + t//16%2*8 + t%4',
  },
  {
    id: 'tiled-layout',
    title: 'A layout of tiles',
    task: 'Four rows of six lie row by row. Write the layout of tiles of 2 by 2: the first mode is the place in a tile (row, column), the second the tile (row of tiles, column of tiles).',
    hint: 'Sizes ((2,2),(2,3)). In a tile, a row is 6 addresses and a column 1; from tile to tile it is 12 down and 2 across.',
    start: '(4,6):(6,1)',
    goal: '((2,2),(2,3)):((6,1),(12,2))',
    solutions: ['((2,2),(2,3)):((6,1),(12,2))', 'zipped_divide((4,6):(6,1), (2:1, 2:1))'],
    miss: '((2,2),(2,3)):((6,1),(12,3))',
  },
  {
    id: 'bank-conflict',
    title: 'Remove the bank conflict',
    task: 'Shared memory has 32 banks, and address a is in bank a % 32. A tile of 32 by 32 lies row by row, and 32 threads read a column: all from one bank. Write a layout (32,32):(row stride, 1) with which each thread reads from a bank of its own.',
    hint: 'Leave a gap behind each row.',
    start: '(32,32):(32,1)',
    goal: '(32,32):(33,1)',
    rule: 'no-conflict',
    solutions: ['(32,32):(33,1)', '(32,32):(35,1)'],
    miss: '(32,32):(34,1)',
  },
];
