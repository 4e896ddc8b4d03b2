// Boxes of addresses of any rank and size, as pictures read them: the last two dimensions are rows and columns, those before them
// panels. A masked element is NaN; one that is not known yet is undefined.
import { ask, type Numbers, type Request } from '../ask';
import { windowRequest } from '../requests';

export interface Field {
  readonly shape: readonly number[];
  /** Writes the addresses of `out.length` elements of a row, from column `begin` on; unknown ones are Infinity. */
  span(panel: number, row: number, begin: number, out: Float64Array): void;
}

export const rowsOf = (shape: readonly number[]): number => (shape.length < 2 ? 1 : (shape.at(-2) ?? 1));
export const colsOf = (shape: readonly number[]): number => shape.at(-1) ?? 1;
export const panelsOf = (shape: readonly number[]): number => shape.slice(0, -2).reduce((a, b) => a * b, 1);
export const sizeOf = (shape: readonly number[]): number => shape.reduce((a, b) => a * b, 1);

const one = new Float64Array(1);
export function addressAt(field: Field, panel: number, row: number, col: number): number | null | undefined {
  field.span(panel, row, col, one);
  const a = one[0] ?? NaN;
  return a === Infinity ? undefined : Number.isNaN(a) ? null : a;
}

/** The whole index of an element. */
export function coordinateOf(shape: readonly number[], panel: number, row: number, col: number): number[] {
  if (shape.length === 0) return [];
  const out: number[] = [];
  for (const size of shape.slice(0, -2).reverse()) {
    out.unshift(panel % size);
    panel = Math.floor(panel / size);
  }
  return shape.length === 1 ? [col] : [...out, row, col];
}

/** Where an index stands: its panel, row and column. */
export function placeOf(shape: readonly number[], coordinate: readonly number[]): [number, number, number] {
  const lead = shape.slice(0, -2);
  const panel = lead.reduce((p, size, d) => p * size + (coordinate[d] ?? 0), 0);
  return [panel, shape.length < 2 ? 0 : (coordinate[shape.length - 2] ?? 0), coordinate[shape.length - 1] ?? 0];
}

/** All addresses in one list, row-major. */
export class ListField implements Field {
  constructor(
    readonly shape: readonly number[],
    private readonly list: ArrayLike<number>,
  ) {}

  span(panel: number, row: number, begin: number, out: Float64Array): void {
    const cols = colsOf(this.shape);
    const base = (panel * rowsOf(this.shape) + row) * cols + begin;
    for (let i = 0; i < out.length; ++i) out[i] = this.list[base + i] ?? Infinity;
  }
}

const TILE = 128;
const MOST_IN_TILE = TILE * TILE;
const MOST_TILES = 512; // 8 million addresses

/** How much of each dimension one tile has: up to TILE rows and columns; then whole dimensions before them, the innermost first, so
 * that small panels share a tile; what is left goes to columns and rows. */
export function tileOf(shape: readonly number[]): number[] {
  const out = shape.map((size, d) => (d >= shape.length - 2 ? Math.min(size, TILE) : 1));
  let room = Math.floor(MOST_IN_TILE / Math.max(1, sizeOf(out)));
  for (let d = shape.length - 3; d >= 0 && room > 1; --d) {
    const size = shape[d] ?? 1;
    out[d] = Math.max(1, Math.min(size, room));
    room = size > room ? 1 : Math.floor(room / Math.max(1, size));
  }
  for (let d = shape.length - 1; d >= Math.max(0, shape.length - 2); --d) {
    const before = out[d] ?? 1;
    out[d] = Math.min(shape[d] ?? 1, before * room);
    room = Math.floor((room * before) / Math.max(1, out[d] ?? 1));
  }
  return out;
}

/** A panel's place among the tiles: the first panel of its tile, and how many elements lie before it there. */
interface Seat {
  readonly panel: number;
  readonly first: number;
  readonly skipped: number;
}

/** Addresses of a `view` request, asked for by tiles where they are looked at. `changed` is called when a tile has come. */
export class AskedField implements Field {
  private readonly tiles = new Map<string, Float64Array | null>();
  private last: { key: string; tile: Float64Array | null } = { key: '', tile: null };
  private seat: Seat = { panel: -1, first: 0, skipped: 0 };
  private readonly extents: readonly number[];

  constructor(
    readonly shape: readonly number[],
    private readonly request: Request,
    private readonly changed: () => void,
  ) {
    this.extents = tileOf(shape);
  }

  span(panel: number, row: number, begin: number, out: Float64Array): void {
    const height = rowsOf(this.extents), width = colsOf(this.extents);
    const down = Math.floor(row / height);
    const rows = Math.min(height, rowsOf(this.shape) - down * height);
    const seat = this.seatOf(panel);
    for (let i = 0; i < out.length; ) {
      const across = Math.floor((begin + i) / width);
      const tile = this.tile(seat.first, down, across);
      const count = Math.min(out.length - i, (across + 1) * width - begin - i);
      const cols = Math.min(width, colsOf(this.shape) - across * width);
      const base = (seat.skipped * rows + row - down * height) * cols + (begin + i - across * width);
      if (tile === null) out.fill(Infinity, i, i + count);
      else out.set(tile.subarray(base, base + count), i);
      i += count;
    }
  }

  private seatOf(panel: number): Seat {
    if (this.seat.panel === panel) return this.seat;
    let rest = panel, stride = 1, first = 0, skipped = 0, before = 1;
    for (let d = this.shape.length - 3; d >= 0; --d) {
      const size = this.shape[d] ?? 1, extent = this.extents[d] ?? 1;
      const at = rest % size, inside = at % extent;
      first += (at - inside) * stride;
      skipped += inside * before;
      before *= Math.min(extent, size - (at - inside));
      stride *= size;
      rest = Math.floor(rest / size);
    }
    return (this.seat = { panel, first, skipped });
  }

  private tile(first: number, down: number, across: number): Float64Array | null {
    const key = `${first},${down},${across}`;
    if (this.last.key === key && this.last.tile !== null) return this.last.tile;
    const found = this.tiles.get(key);
    if (found !== undefined) {
      if (found !== null) this.last = { key, tile: found };
      return found;
    }
    this.load(key, first, down, across);
    return this.tiles.get(key) ?? null;
  }

  private load(key: string, first: number, down: number, across: number): void {
    this.tiles.set(key, null);
    if (this.tiles.size > MOST_TILES) {
      const [oldest] = this.tiles.keys();
      if (oldest !== undefined) this.tiles.delete(oldest);
    }
    void ask(windowRequest(this.request, this.window(first, down, across))).then((reply) => {
      const numbers = numbersOf(reply.answer['addresses'], reply.arrays);
      if (numbers === null) return; // refused: what it is about says so
      this.tiles.set(key, numbers);
      this.changed();
    });
  }

  /** The tile that begins at a panel, as the part of each dimension that it has. */
  window(first: number, down: number, across: number): [number, number][] {
    const { shape, extents } = this;
    const begin = coordinateOf(shape, first, down * rowsOf(extents), across * colsOf(extents));
    return begin.map((at, d) => [at, Math.min(shape[d] ?? 1, at + (extents[d] ?? 1))]);
  }
}

/** A list of an answer that is in memory, or in the JSON with `masked` (-1, or null for no number) for what is masked. */
export function numbersOf(list: unknown, arrays: readonly Numbers[], masked: number | null = -1): Float64Array | null {
  if (Array.isArray(list)) return Float64Array.from(list as (number | null)[], (v) => (v === null || v === masked ? NaN : v));
  if (typeof list !== 'object' || list === null) return null;
  const found = arrays[(list as { memory: number }).memory];
  return found === undefined ? null : found instanceof Float64Array ? found : Float64Array.from(found);
}
