// An expression's text in its parts: bounds, the expression, where it is valid, what is assumed. Boxes show the parts; what is typed
// into them writes the text again.
import type { Reading } from '../../reading';

export interface Variable {
  readonly name: string;
  readonly min: string;
  readonly max: string;
}
export interface Parts {
  readonly vars: readonly Variable[];
  readonly text: string;
  /** "" where it is always valid. */
  readonly valid: string;
  readonly assume: readonly string[];
}

const NAME = /^[A-Za-z_]\w*$/;

export function textOf(parts: Parts): string {
  const { vars, text, valid, assume } = parts;
  const statements = [...vars.map((v) => `${v.name}: ${v.min}..${v.max}`), text];
  if (valid.trim() !== '') statements.push(`valid ${valid.trim()}`);
  return [...statements, ...assume.map((a) => `assume ${a}`)].join('; ');
}

/** The parts of a text as `textOf` writes it; null for other texts, and for those of another kind. */
export function readParts(text: string): Parts | null {
  const vars: Variable[] = [];
  const assume: string[] = [];
  let expression: string | null = null, valid = '';
  for (const statement of statementsOf(text)) {
    const declared = /^([A-Za-z_]\w*)\s*:\s*(-?\d+)\s*\.\.\s*(-?\d+)$/.exec(statement);
    const said = /^(valid|assume)\s+(.*)$/s.exec(statement);
    if (declared !== null && expression === null) vars.push({ name: declared[1] ?? '', min: declared[2] ?? '', max: declared[3] ?? '' });
    else if (said?.[1] === 'valid' && expression !== null && valid === '') valid = said[2] ?? '';
    else if (said?.[1] === 'assume' && expression !== null) assume.push(said[2] ?? '');
    else if (expression === null && said === null && !/[:[{.]|[^=<>!]=[^=]/.test(statement)) expression = statement;
    else return null;
  }
  return expression === null ? null : { vars, text: expression, valid, assume };
}

/** Statements end at `;` or at the end of a line, outside of brackets. */
function statementsOf(text: string): string[] {
  const out = [''];
  let depth = 0;
  for (const c of text) {
    depth += c === '(' ? 1 : c === ')' ? -1 : 0;
    if ((c === ';' || c === '\n') && depth <= 0) out.push('');
    else out[out.length - 1] += c;
  }
  return out.map((s) => s.trim()).filter((s) => s !== '');
}

export function partsOf(reading: Reading): Parts {
  const { text, assume } = reading.request as { text: string; assume?: readonly string[] };
  const vars = Object.entries(reading.vars).map(([name, [min, max]]) => ({ name, min: String(min), max: String(max) }));
  return { vars, text, valid: reading.valid ?? '', assume: assume ?? [] };
}

// --- edits ---

export const withVar = (parts: Parts, i: number, change: Partial<Variable>): Parts => ({ ...parts, vars: parts.vars.map((v, k) => (k === i ? { ...v, ...change } : v)) });

/** Another name, wherever it stands. */
export function renamed(parts: Parts, from: string, to: string): Parts {
  const write = (text: string): string => text.replace(/[A-Za-z_]\w*/g, (name) => (name === from ? to : name));
  const vars = parts.vars.map((v) => (v.name === from ? { ...v, name: to } : v));
  return { vars, text: write(parts.text), valid: write(parts.valid), assume: parts.assume.map(write) };
}

export const nameProblem = (name: string, others: readonly string[]): string | null =>
  !NAME.test(name) ? `'${name}' is no name` : others.includes(name) ? `there is a ${name} already` : null;

/** The first short name that is nowhere in the texts. */
export function freeName(parts: Parts): string {
  const used = new Set([parts.text, parts.valid, ...parts.assume, ...parts.vars.map((v) => v.name)].join(' ').match(/[A-Za-z_]\w*/g) ?? []);
  for (const name of 'ijklmn') if (!used.has(name)) return name;
  for (let n = 0; ; ++n) if (!used.has(`i${n}`)) return `i${n}`;
}

export function movedVar(parts: Parts, i: number, by: number): Parts {
  const vars = [...parts.vars];
  const [mine] = vars.splice(i, 1);
  if (mine !== undefined) vars.splice(i + by, 0, mine);
  return { ...parts, vars };
}

// --- what is drawn ---

export type Bounds = Readonly<Record<string, readonly [number, number]>>;

/** Variables as dimensions of a picture: the first one down, the last one across, those between a panel each. */
export function drawnOrder(vars: Bounds): Bounds {
  const all = Object.entries(vars);
  const [first, ...rest] = all;
  if (first === undefined || all.length < 3) return vars;
  return Object.fromEntries([...rest.slice(0, -1), first, ...rest.slice(-1)]);
}
