// What the page shows, as names with values: the URL's hash is all of it, so that a link says what its reader will see.
//
// `update` changes values and remembers the state before it for `undo`; changes with the same `merge` (keys typed into one box)
// are one step. Values that equal their defaults are left out of the hash.
import { computed, signal, type ReadonlySignal } from '@preact/signals';

export type State = Readonly<Record<string, string>>;

const current = signal<State>(read(location.hash));
const past = signal<readonly State[]>([]);
const future = signal<readonly State[]>([]);
let merging: string | null = null;
const MOST_STEPS = 500;

/** The state that a hash says; a name that is there twice has its last value. */
export function read(hash: string): State {
  const out: Record<string, string> = {};
  for (const [name, value] of new URLSearchParams(hash.replace(/^#/, ''))) out[name] = value;
  return out;
}

/** The hash that says `state`. Blanks are %20: a plus sign may be lost where links are copied. */
export function write(state: State): string {
  const names = Object.keys(state).sort((a, b) => rank(a) - rank(b) || (a < b ? -1 : 1));
  return '#' + names.map((name) => `${encode(name)}=${encode(state[name] ?? '')}`).join('&');
}

const rank = (name: string): number => (name === 'mode' ? 0 : name === 'q' ? 1 : 2);
// Brackets are left as they are in links by hardly any reader: they are encoded, too. Half a pair of UTF-16 has no encoding.
const encode = (text: string): string =>
  encodeURIComponent(text.replace(/\p{Surrogate}/gu, '\uFFFD')).replace(/[!'()*]/g, (c) => '%' + c.charCodeAt(0).toString(16).toUpperCase());

export const state: ReadonlySignal<State> = current;
export const canUndo = computed(() => past.value.length > 0);
export const canRedo = computed(() => future.value.length > 0);

/** The value of `name`, or `otherwise` where the state has none. */
export const param = (name: string, otherwise = ''): string => current.value[name] ?? otherwise;

/** The value of `name` as a whole number of [least, most]; `otherwise` where the link says anything else. */
export function whole<T>(name: string, otherwise: T, least: number, most: number): number | T {
  const said = param(name);
  const value = Number(said);
  return /^-?\d+$/.test(said) && value >= least && value <= most ? value : otherwise;
}

/** Changes values; `undefined` takes one away. Steps with one `merge` in a row are undone together. */
export function update(changes: Record<string, string | undefined>, merge: string | null = null): void {
  const next: Record<string, string> = { ...current.peek() };
  for (const [name, value] of Object.entries(changes)) {
    if (value === undefined) delete next[name];
    else next[name] = value;
  }
  if (write(next) === write(current.peek())) return;
  if (merge === null || merge !== merging) past.value = [...past.peek().slice(-MOST_STEPS), current.peek()];
  merging = merge;
  future.value = [];
  show(next);
}

export function undo(): void {
  const before = past.peek().at(-1);
  if (before === undefined) return;
  past.value = past.peek().slice(0, -1);
  future.value = [...future.peek(), current.peek()];
  merging = null;
  show(before);
}

export function redo(): void {
  const after = future.peek().at(-1);
  if (after === undefined) return;
  future.value = future.peek().slice(0, -1);
  past.value = [...past.peek(), current.peek()];
  merging = null;
  show(after);
}

function show(next: State): void {
  current.value = next;
  history.replaceState(null, '', write(next));
}

/** The link to what is shown. */
export const permalink = (): string => location.href.replace(/#.*$/, '') + write(current.peek());

addEventListener('hashchange', () => {
  const next = read(location.hash);
  if (write(next) === write(current.peek())) return;
  past.value = [...past.peek().slice(-MOST_STEPS), current.peek()];
  future.value = [];
  merging = null;
  current.value = next;
});
