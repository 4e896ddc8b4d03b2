// Layouts in CuTe's notation as pictures read them: the engine's texts, sizes and coordinates of their modes. The first mode is fastest.
export type Tree = number | readonly Tree[];
export interface Layout {
  readonly shape: Tree;
  readonly stride: Tree;
}

/** `((2,4),8):((1,16),2)`, as the engine prints it; null for a text with names in it, or none of a layout. */
export function parseLayout(text: string): Layout | null {
  const halves = text.split(':');
  const [shape, stride] = halves.map(parseTree);
  return halves.length !== 2 || shape == null || stride == null || profile(shape) !== profile(stride) ? null : { shape, stride };
}

export function parseTree(text: string): Tree | null {
  let at = 0;
  const blank = (): void => {
    while (text[at] === ' ') ++at;
  };
  const tree = (): Tree | null => {
    blank();
    if (text[at] !== '(') {
      const number = /^-?\d+/.exec(text.slice(at))?.[0];
      if (number === undefined) return null;
      at += number.length;
      blank();
      return Number(number);
    }
    const items: Tree[] = [];
    do {
      ++at;
      const item = tree();
      if (item === null) return null;
      items.push(item);
    } while (text[at] === ',');
    if (text[at++] !== ')') return null;
    blank();
    return items;
  };
  const out = tree();
  return out !== null && at === text.length ? out : null;
}

const profile = (t: Tree): string => (typeof t === 'number' ? '*' : `(${t.map(profile).join()})`);
export const renderTree = (t: Tree): string => (typeof t === 'number' ? String(t) : `(${t.map(renderTree).join(',')})`);
export const renderLayout = (l: Layout): string => `${renderTree(l.shape)}:${renderTree(l.stride)}`;
export const leavesOf = (t: Tree): number[] => (typeof t === 'number' ? [t] : t.flatMap(leavesOf));
export const sizeOfTree = (t: Tree): number => leavesOf(t).reduce((a, b) => a * b, 1);
export const depthOf = (t: Tree): number => (typeof t === 'number' ? 0 : 1 + Math.max(0, ...t.map(depthOf)));
/** The sizes of the modes: one of a layout that is a single leaf. */
export const modeSizes = (l: Layout): number[] => (typeof l.shape === 'number' ? [l.shape] : l.shape.map(sizeOfTree));
/** The layout of the same shape whose values are 0, 1, 2, ... */
export const compact = (l: Layout): Layout => ({ shape: l.shape, stride: compactStrides(l.shape, { next: 1 }) });

function compactStrides(shape: Tree, running: { next: number }): Tree {
  if (typeof shape !== 'number') return shape.map((t) => compactStrides(t, running));
  const stride = running.next;
  running.next *= shape;
  return stride;
}

/** The value at an index. */
export function valueAt(l: Layout, index: number): number {
  const sizes = leavesOf(l.shape), strides = leavesOf(l.stride);
  let value = 0;
  for (let i = 0; i < sizes.length; ++i) {
    const size = sizes[i] ?? 1;
    value += (index % size) * (strides[i] ?? 0);
    index = Math.floor(index / size);
  }
  return value;
}

/** Least and largest value. */
export function rangeOf(l: Layout): [number, number] {
  const sizes = leavesOf(l.shape), strides = leavesOf(l.stride);
  const reach = sizes.map((n, i) => (n - 1) * (strides[i] ?? 0));
  return [reach.reduce((a, r) => a + Math.min(0, r), 0), reach.reduce((a, r) => a + Math.max(0, r), 0)];
}

/** The coordinate of an index, nested as the shape is. */
export function coordinateIn(shape: Tree, index: number): Tree {
  if (typeof shape === 'number') return index;
  return shape.map((t) => {
    const size = sizeOfTree(t), digit = index % size;
    index = Math.floor(index / size);
    return coordinateIn(t, digit);
  });
}

/** The digits of an index, one a mode. */
export function digitsOf(sizes: readonly number[], index: number): number[] {
  return sizes.map((size) => {
    const digit = index % size;
    index = Math.floor(index / size);
    return digit;
  });
}

export const indexOf = (sizes: readonly number[], digits: readonly number[]): number =>
  sizes.reduceRight((index, size, i) => index * size + (digits[i] ?? 0), 0);
