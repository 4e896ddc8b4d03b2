// Random requests of all kinds, most of them sound: what two builds of the answers are compared on.

export class Random {
  constructor(private state: number) {}

  /** From 0 to n - 1. */
  below(n: number): number {
    this.state = (this.state + 0x6d2b79f5) | 0;
    let t = Math.imul(this.state ^ (this.state >>> 15), 1 | this.state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) % n;
  }
  between(low: number, high: number): number {
    return low + this.below(high - low + 1);
  }
  of<T>(items: readonly T[]): T {
    return items[this.below(items.length)] as T;
  }
  chance(percent: number): boolean {
    return this.below(100) < percent;
  }
  list<T>(count: number, make: (k: number) => T): T[] {
    return Array.from({ length: count }, (_, k) => make(k));
  }
  shuffled<T>(items: readonly T[]): T[] {
    const out = [...items];
    for (let k = out.length - 1; k > 0; k -= 1) {
      const other = this.below(k + 1);
      [out[k], out[other]] = [out[other] as T, out[k] as T];
    }
    return out;
  }
}

export type Json = Record<string, unknown>;
type Bounds = Record<string, [number, number]>;

// --- expressions ---

const NAMES = ['a', 'b', 'idx2', 'idx10'];

function bounds(random: Random): Bounds {
  const out: Bounds = {};
  for (const name of NAMES.slice(0, random.between(1, NAMES.length))) {
    const low = random.chance(70) ? 0 : random.between(-20, 20);
    out[name] = [low, low + random.of([0, 1, 3, 7, 9, 63, 100, 4095, 4294967296])];
  }
  return out;
}

function expression(random: Random, names: readonly string[], depth: number): string {
  if (depth === 0 || random.chance(15)) return random.chance(70) ? random.of(names) : String(random.of([0, 1, 2, 3, 4, 7, 10, 16, 128, 4294967297]));
  const sub = (): string => expression(random, names, depth - 1);
  const positive = (): number => random.of([1, 2, 3, 4, 5, 8, 10, 16, 100]);
  switch (random.below(10)) {
    case 0:
    case 1:
      return `(${sub()} + ${sub()})`;
    case 2:
      return `${sub()}*${positive()}`;
    case 3:
      return `(${sub()} - ${sub()})`;
    case 4:
      return `(${sub()})%${positive()}`;
    case 5:
      return `(${sub()})${random.of(['/', '//'])}${random.chance(90) ? positive() : sub()}`;
    case 6:
      return `${random.of(['min', 'max'])}(${sub()}, ${sub()})`;
    case 7:
      return `select(${condition(random, names, 1)}, ${sub()}, ${sub()})`;
    case 8:
      return `-(${sub()})`;
    default:
      return `(${sub()} * ${sub()})`;
  }
}

function condition(random: Random, names: readonly string[], depth: number): string {
  const side = (): string => expression(random, names, depth);
  const one = `${side()} ${random.of(['<', '<=', '>', '>=', '==', '!='])} ${side()}`;
  return random.chance(25) ? `(${one}) ${random.of(['and', 'or'])} not (${condition(random, names, 0)})` : one;
}

function point(random: Random, vars: Bounds): Json {
  return Object.fromEntries(Object.entries(vars).map(([name, [low, high]]) => [name, random.between(low, Math.min(high, low + 1000))]));
}

function exprRequest(random: Random): Json {
  const vars = bounds(random), names = Object.keys(vars);
  const out: Json = { do: 'expr', text: expression(random, names, random.between(1, 4)), vars };
  if (random.chance(30)) out['at'] = random.list(random.between(1, 3), () => point(random, vars));
  if (random.chance(20)) out['assume'] = [condition(random, names, 1)];
  return out;
}

function proveRequest(random: Random): Json {
  const vars = bounds(random);
  return { do: 'prove', text: condition(random, Object.keys(vars), 2), vars };
}

function equalExprRequest(random: Random): Json {
  const vars = bounds(random), names = Object.keys(vars);
  const a = expression(random, names, 3);
  return { do: 'equal_expr', a, b: random.chance(40) ? `(${a}) + 0*${random.of(names)}` : expression(random, names, 3), vars };
}

function affineRequest(random: Random): Json {
  const text = `${random.of(['i', 'i*3', '(i + 1)'])} ${random.of(['+', '-'])} ${random.of(['j % 4', 'j // 3', '128', 'j*j'])}`;
  const at = random.list(3, () => (text.includes('j') ? { i: random.between(-9, 9), j: random.between(-9, 9) } : { i: random.between(-9, 9) }));
  return { do: 'affine', text, at };
}

// --- views ---

const product = (shape: readonly number[]): number => shape.reduce((a, b) => a * b, 1);

function shapeOf(random: Random, size: number): number[] {
  const out: number[] = [];
  let rest = size;
  while (rest > 1 && out.length < 4) {
    const divisors = random.list(rest, (k) => k + 1).filter((d) => rest % d === 0);
    const d = random.of(divisors);
    out.push(d);
    rest /= d;
  }
  return [...out, rest];
}

/** An operation on `shape`, and the shape after it. */
function movement(random: Random, shape: readonly number[]): [string, unknown, number[]] {
  const step = (n: number): number => (n > 0 ? random.of([1, 1, -1, 2, -2]) : 1);
  switch (random.below(7)) {
    case 0: {
      const to = shapeOf(random, Math.min(product(shape), 4096));
      return ['reshape', to, to];
    }
    case 1: {
      const order = random.shuffled(shape.map((_, k) => k));
      return ['permute', order, order.map((k) => shape[k] as number)];
    }
    case 2: {
      const to = shape.map((n) => (n === 1 ? random.between(1, 4) : n));
      return ['expand', to, to];
    }
    case 3: {
      const pads = shape.map((): [number, number] => [random.below(3), random.below(3)]);
      return ['pad', pads, shape.map((n, k) => n + (pads[k]?.[0] ?? 0) + (pads[k]?.[1] ?? 0))];
    }
    case 4: {
      const parts = shape.map((n): [number, number] => {
        const begin = random.below(n + 1);
        return [begin, random.between(begin, n)];
      });
      return ['shrink', parts, parts.map(([begin, end]) => end - begin)];
    }
    case 5: {
      const axes = shape.map((_, k) => k).filter(() => random.chance(50));
      return ['flip', axes, [...shape]];
    }
    default: {
      const steps = shape.map(step);
      return ['stride', steps, shape.map((n, k) => Math.ceil(n / Math.abs(steps[k] as number)))];
    }
  }
}

function moved(random: Random): { start: Json; shape: number[] } {
  let shape = random.list(random.between(1, 3), () => random.between(1, 6));
  const ops: unknown[] = [];
  const start: Json = { shape };
  for (let k = random.below(5); k > 0 && product(shape) < 2000; k -= 1) {
    const [name, argument, after] = movement(random, shape);
    ops.push([name, argument]);
    shape = after;
  }
  return { start: { ...start, ops }, shape };
}

function stridedView(random: Random): { start: Json; shape: number[] } {
  const shape = random.list(random.between(1, 3), () => random.between(1, 5));
  const strides = shape.map(() => random.between(-3, 12));
  const mask = random.chance(40) ? shape.map((n) => [random.below(2), random.between(1, n)].sort((a, b) => a - b)) : null;
  return { start: { views: [{ shape, strides, offset: random.between(0, 40), mask }] }, shape };
}

function viewRequest(random: Random): Json {
  const { start, shape } = random.chance(70) ? moved(random) : stridedView(random);
  const out: Json = { do: 'view', ...start };
  if (random.chance(20)) out['simplify'] = false;
  if (random.chance(60)) out['addresses'] = true;
  if (random.chance(30)) {
    out['addresses'] = true;
    out['window'] = shape.map((n) => {
      const begin = random.below(n + 1);
      return [begin, random.between(begin, n)];
    });
  }
  return out;
}

function hugeViewRequest(random: Random): Json {
  const shape = random.list(2, () => random.of([1048576, 1000003, 4294967296, 65536]));
  const window = shape.map((n) => {
    const begin = Math.floor((n - 4) * (random.below(1000) / 1000));
    return [begin, begin + random.between(0, 4)];
  });
  return { do: 'view', shape, ops: [['permute', [1, 0]]], addresses: true, window: [window[1], window[0]] };
}

function viewExprRequest(random: Random): Json {
  const vars = Object.fromEntries(Object.entries(bounds(random)).map(([name, [low, high]]) => [name, [low, Math.min(high, low + 7)]])) as Bounds;
  const names = Object.keys(vars);
  return { do: 'view', expr: expression(random, names, 3), valid: condition(random, names, 1), vars, addresses: true };
}

function equalViewRequest(random: Random): Json {
  const a = moved(random).start;
  return { do: 'equal_view', a, b: random.chance(50) ? { ...a, simplify: false } : moved(random).start };
}

// --- layouts ---

function layoutText(random: Random, depth = 1): string {
  const mode = (): [string, string] => {
    if (depth > 0 && random.chance(30)) {
      const parts = random.list(random.between(1, 3), () => [String(random.of([1, 2, 3, 4])), String(random.of([0, 1, 2, 4, 8, 16]))]);
      return [`(${parts.map((p) => p[0]).join(',')})`, `(${parts.map((p) => p[1]).join(',')})`];
    }
    return [String(random.of([1, 2, 3, 4, 6, 8])), String(random.of([0, 1, 2, 3, 4, 8, 16, 32]))];
  };
  const modes = random.list(random.between(1, 3), mode);
  return `(${modes.map((m) => m[0]).join(',')}):(${modes.map((m) => m[1]).join(',')})`;
}

const UNARY = ['coalesce', 'right_inverse', 'left_inverse', 'nullspace', 'size', 'cosize', 'crd2idx'];
const BINARY = [
  'composition', 'logical_divide', 'zipped_divide', 'tiled_divide', 'flat_divide',
  'logical_product', 'zipped_product', 'tiled_product', 'flat_product', 'blocked_product', 'raked_product',
];

function layoutRequest(random: Random): Json {
  const a = layoutText(random);
  switch (random.below(6)) {
    case 0:
      return { do: 'layout', fn: random.of(UNARY), args: [a] };
    case 1:
      return { do: 'layout', fn: 'swizzle', args: [random.below(4), random.below(4), random.between(-4, 4)] };
    case 2:
      return { do: 'layout', fn: 'complement', args: [a, random.of([1, 16, 24, 64, 128])] };
    case 3:
      return { do: 'layout', fn: 'idx2crd', args: [a, random.below(64)] };
    default:
      return { do: 'layout', fn: random.of(BINARY), args: [a, random.chance(70) ? `${random.of([2, 3, 4, 8])}:${random.of([1, 2, 4])}` : layoutText(random)] };
  }
}

// --- kernels ---

const ELEMENTWISE = ['relu', 'exp', 'sqrt', 'sigmoid', 'tanh', 'silu', 'abs', 'floor', 'square', 'recip', 'sin'];

export function kernelText(random: Random): string {
  const [m, n, k] = random.list(3, () => random.of([1, 2, 3, 4, 8, 16, 17, 32, 64])) as [number, number, number];
  const dtype = random.of(['f32', 'f32', 'f32', 'f16', 'f64', 'i32']);
  const f = (): string => random.of(ELEMENTWISE);
  switch (random.below(9)) {
    case 0:
      return `a: ${dtype}[${m},${n}]; b: ${dtype}[${m},${n}]; c = a*2 + b`;
    case 1:
      return `a: ${dtype}[${m},${k}]; b: ${dtype}[${k},${n}]; c = a @ b`;
    case 2:
      return `a: f32[${m},${k}]; b: f32[${k},${n}]; c = ${f()}(a @ b)`;
    case 3:
      return `a: f32[${m},${n}]; c = a.softmax(1)`;
    case 4:
      return `a: ${dtype}[${m},${n},${k}]; c = a.${random.of(['sum', 'max', 'min'])}(${random.of(['0', '1', '2', '1,2', ''])})`;
    case 5:
      return `a: f32[${m},${n}]; c = ${f()}(${f()}(a)).permute(1,0).pad(1:0,0:2)`;
    case 6:
      return `n: 1..${n}; a: f32[n,${m}]; b: f32[${m}]; c = (a * b).sum(1)`;
    case 7:
      return `t: f32[${m},${n}]; i: i32[${k}]; c = gather(t, i) + 1`;
    default:
      return `a: f32[${m},${n}]; c = (a - a.mean(1)) * ${f()}(a).reshape(${m * n}).flip(0).reshape(${m},${n})`;
  }
}

function kernelRequest(random: Random): Json {
  const opts = (): string => `${random.of(['UPCAST', 'UNROLL', 'LANES', 'PARALLEL', 'TILE'])} ${random.below(3)} ${random.of([2, 4, 8, 16])}`;
  const out: Json = { do: 'kernel', text: kernelText(random), target: random.of(['c', 'llvm', 'opencl', 'cuda', 'metal', 'wgsl']) };
  if (random.chance(60)) out['opts'] = random.chance(40) ? random.of(['auto', 'none']) : random.list(random.between(1, 2), opts).join(', ');
  if (random.chance(30)) out['vector_bytes'] = random.of([16, 32, 64]);
  if (random.chance(30)) out['show'] = random.of(['all', 'axes', 'uops,source', 'proof']);
  return out;
}

// --- the box ---

function boxText(random: Random): string {
  const vars = bounds(random);
  const declared = Object.entries(vars).map(([name, [low, high]]) => `${name}: ${low}..${high}; `).join('');
  switch (random.below(5)) {
    case 0: {
      const shape = random.list(random.between(1, 3), () => random.between(1, 6));
      return `ShapeTracker.from_shape((${shape.join(', ')},)).permute((${random.shuffled(shape.map((_, k) => k)).join(',')}))`;
    }
    case 1:
      return layoutText(random);
    case 2:
      return `${random.of(BINARY)}(${layoutText(random)}, ${layoutText(random, 0)})`;
    case 3:
      return kernelText(random);
    default:
      return declared + expression(random, Object.keys(vars), 3);
  }
}

const readRequest = (random: Random): Json => ({ do: 'read', text: boxText(random) });

/** Each kind with its share of the requests. */
const KINDS: readonly [string, number, (random: Random) => Json][] = [
  ['expr', 18, exprRequest],
  ['prove', 8, proveRequest],
  ['equal_expr', 8, equalExprRequest],
  ['affine', 4, affineRequest],
  ['view', 18, viewRequest],
  ['huge view', 4, hugeViewRequest],
  ['view of an expression', 6, viewExprRequest],
  ['equal_view', 6, equalViewRequest],
  ['layout', 12, layoutRequest],
  ['read', 6, readRequest],
  ['kernel', 10, kernelRequest],
];

export const kindNames: readonly string[] = KINDS.map(([name]) => name);

export function randomRequest(random: Random): { kind: string; line: string } {
  let place = random.below(KINDS.reduce((sum, [, share]) => sum + share, 0));
  for (const [kind, share, make] of KINDS) {
    if (place < share) {
      const request = make(random);
      return { kind, line: JSON.stringify(random.chance(20) ? { id: random.below(1000), ...request } : request) };
    }
    place -= share;
  }
  throw new Error('no kind was drawn');
}

/** A line with a few bytes taken out, put in or changed. It stays one line. */
export function damaged(random: Random, line: string): Buffer {
  let bytes = [...Buffer.from(line)];
  for (let k = random.between(1, 3); k > 0; k -= 1) {
    const at = random.below(bytes.length + 1);
    const byte = random.chance(60) ? random.of([...Buffer.from('"{}[]:,0-9.eE\\x()%/')]) : random.below(256);
    const dropped = random.below(4);
    bytes = [...bytes.slice(0, at), ...(random.chance(60) ? [byte] : []), ...bytes.slice(at + dropped)];
  }
  const whole = Buffer.from(bytes.filter((b) => b !== 10));
  return whole.toString('latin1').trim() === '' ? Buffer.from('x') : whole;
}
