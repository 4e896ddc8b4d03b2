// A rule rewrites a part of an expression; here the part is found again in the whole. Sums and products are compared whatever their
// order. What comes out is shown only where the engine proves it equal.

type Node =
  | { readonly kind: 'number'; readonly value: bigint }
  | { readonly kind: 'name'; readonly name: string }
  | { readonly kind: 'sum'; readonly terms: readonly (readonly [Node, bigint])[]; readonly rest: bigint }
  | { readonly kind: 'op'; readonly op: string; readonly args: readonly Node[] };

const number = (value: bigint): Node => ({ kind: 'number', value });

/** Equal for nodes that say the same, in whatever order. */
function key(node: Node): string {
  switch (node.kind) {
    case 'number': return String(node.value);
    case 'name': return node.name;
    case 'sum': return `(+ ${[...node.terms.map(([t, c]) => `${c}*${key(t)}`).sort(), String(node.rest)].join(' ')})`;
    case 'op': return `(${node.op} ${node.args.map(key).join(' ')})`;
  }
}

function sum(parts: readonly (readonly [Node, bigint])[]): Node {
  const terms = new Map<string, [Node, bigint]>();
  let rest = 0n;
  const add = (node: Node, by: bigint): void => {
    if (node.kind === 'number') rest += node.value * by;
    else if (node.kind === 'sum') {
      rest += node.rest * by;
      for (const [t, c] of node.terms) add(t, c * by);
    } else {
      const k = key(node);
      terms.set(k, [node, (terms.get(k)?.[1] ?? 0n) + by]);
    }
  };
  for (const [node, by] of parts) add(node, by);
  const left = [...terms.values()].filter(([, c]) => c !== 0n);
  const [only] = left;
  if (only === undefined) return number(rest);
  return left.length === 1 && only[1] === 1n && rest === 0n ? only[0] : { kind: 'sum', terms: left, rest };
}

function product(a: Node, b: Node): Node {
  if (a.kind === 'number') return sum([[b, a.value]]);
  if (b.kind === 'number') return sum([[a, b.value]]);
  const factors = [a, b].flatMap((n) => (n.kind === 'op' && n.op === '*' ? n.args : [n]));
  return { kind: 'op', op: '*', args: factors.sort((p, q) => (key(p) < key(q) ? -1 : 1)) };
}

const floorDiv = (a: bigint, b: bigint): bigint => (a - (((a % b) + b) % b)) / b;

function operation(op: string, args: readonly Node[]): Node {
  const [a, b] = args;
  if (a?.kind === 'number' && b?.kind === 'number' && b.value !== 0n) {
    if (op === '//') return number(floorDiv(a.value, b.value));
    if (op === '%') return number(a.value - floorDiv(a.value, b.value) * b.value);
  }
  return { kind: 'op', op, args };
}

// --- reading ---

const LEVELS: readonly (readonly string[])[] = [['or', '||'], ['and', '&&'], ['<=', '>=', '==', '!=', '<', '>'], ['+', '-'], ['*', '//', '/', '%']];
const SPELLED: Readonly<Record<string, string>> = { '||': 'or', '&&': 'and', '/': '//' };
const TOKEN = /\s*(\d+|[A-Za-z_]\w*|\/\/|<=|>=|==|!=|&&|\|\||[-+*/%()<>,!])/y;

class Reader {
  private readonly tokens: string[] = [];
  private at = 0;

  constructor(text: string) {
    TOKEN.lastIndex = 0;
    const trimmed = text.trimEnd();
    while (TOKEN.lastIndex < trimmed.length) {
      const found = TOKEN.exec(trimmed);
      if (found === null) throw new SyntaxError(text);
      this.tokens.push(found[1] ?? '');
    }
  }

  all(): Node {
    const node = this.level(0);
    if (this.at < this.tokens.length) throw new SyntaxError(this.tokens[this.at]);
    return node;
  }

  private take(...wanted: readonly string[]): string | null {
    const token = this.tokens[this.at];
    if (token === undefined || !wanted.includes(token)) return null;
    this.at += 1;
    return token;
  }

  private level(n: number): Node {
    const ops = LEVELS[n];
    if (ops === undefined) return this.unary();
    if (n === 2 && this.take('not', '!') !== null) return operation('not', [this.level(2)]);
    let left = this.level(n + 1);
    for (let op = this.take(...ops); op !== null; op = this.take(...ops)) {
      const right = this.level(n + 1);
      left = op === '+' ? sum([[left, 1n], [right, 1n]]) : op === '-' ? sum([[left, 1n], [right, -1n]]) : op === '*' ? product(left, right) : operation(SPELLED[op] ?? op, [left, right]);
    }
    return left;
  }

  private unary(): Node {
    if (this.take('-') !== null) return sum([[this.unary(), -1n]]);
    const token = this.tokens[this.at] ?? '';
    this.at += 1;
    if (/^\d/.test(token)) return number(BigInt(token));
    if (token === '(') return this.closed(this.level(0));
    if (!/^[A-Za-z_]/.test(token)) throw new SyntaxError(token);
    if (this.take('(') === null) return { kind: 'name', name: token };
    const args = [this.level(0)];
    while (this.take(',') !== null) args.push(this.level(0));
    return this.closed(operation(token, args));
  }

  private closed(node: Node): Node {
    if (this.take(')') === null) throw new SyntaxError(')');
    return node;
  }
}

function read(text: string): Node | null {
  try {
    return new Reader(text).all();
  } catch (error) {
    if (error instanceof SyntaxError) return null; // a spelling that is not read here
    throw error;
  }
}

// --- writing ---

const strength = (node: Node): number => {
  if (node.kind === 'sum') return node.terms.length === 1 && node.rest === 0n ? 4 : 3;
  if (node.kind !== 'op') return node.kind === 'number' && node.value < 0n ? 4 : 9;
  const at = LEVELS.findIndex((ops) => ops.includes(node.op));
  return at < 0 ? 9 : at;
};

function write(node: Node, least = 0): string {
  const text = bare(node);
  return strength(node) < least ? `(${text})` : text;
}

function bare(node: Node): string {
  if (node.kind === 'number') return String(node.value);
  if (node.kind === 'name') return node.name;
  if (node.kind === 'sum') {
    const parts = node.terms.map(([t, c]) => [c, c === 1n || c === -1n ? write(t, 4) : `${write(t, 5)}*${c < 0n ? -c : c}`] as const);
    const texts = parts.map(([c, text], i) => (i === 0 ? (c < 0n ? '-' : '') : c < 0n ? ' - ' : ' + ') + text);
    return texts.join('') + (node.rest === 0n ? '' : node.rest < 0n ? ` - ${-node.rest}` : ` + ${node.rest}`);
  }
  const at = LEVELS.findIndex((ops) => ops.includes(node.op));
  if (node.op === '*') return node.args.map((a) => write(a, 5)).join('*');
  if (at < 0) return `${node.op}(${node.args.map((a) => write(a)).join(', ')})`;
  return `${write(node.args[0] ?? number(0n), at)}${at < 4 ? ` ${node.op} ` : node.op}${write(node.args[1] ?? number(0n), at + 1)}`;
}

// --- steps ---

function replaced(node: Node, wanted: string, by: Node): Node | null {
  if (key(node) === wanted) return by;
  if (node.kind === 'sum') {
    let found = false;
    const terms = node.terms.map(([t, c]): [Node, bigint] => {
      const next = replaced(t, wanted, by);
      found ||= next !== null;
      return [next ?? t, c];
    });
    return found ? sum([...terms, [number(node.rest), 1n]]) : null;
  }
  if (node.kind !== 'op') return null;
  const args = node.args.map((a) => replaced(a, wanted, by));
  if (args.every((a) => a === null)) return null;
  const all = args.map((a, i) => a ?? node.args[i] ?? number(0n));
  return node.op === '*' ? all.reduce(product) : operation(node.op, all);
}

export interface Instance {
  readonly before: string;
  readonly after: string;
}

/** The whole expression behind each step; null where its part is not found in it: then it answered a question on the side. */
export function wholes(text: string, steps: readonly Instance[]): (string | null)[] {
  let now = read(text);
  return steps.map(({ before, after }) => {
    const [from, to] = [read(before), read(after)];
    const next = now === null || from === null || to === null ? null : replaced(now, key(from), to);
    now = next ?? now;
    return next === null ? null : write(next);
  });
}
