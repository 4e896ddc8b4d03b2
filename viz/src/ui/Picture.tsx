// The picture of a box text, whatever it is: a stack of Views, an expression over its variables, a layout.
import { useMemo, useRef, useState } from 'preact/hooks';
import { type Asked, type Request, useAnswer } from '../ask';
import type { ViewAnswer } from '../answers';
import { amountShade, type Shade } from '../draw/colours';
import { AskedField, type Field, ListField, numbersOf, sizeOf } from '../draw/field';
import { GridView } from '../draw/GridView';
import { Strip, touchesOf } from '../draw/Strip';
import type { Reading } from '../reading';
import { addressesRequest, readRequest, viewRequest } from '../requests';
import type { Witness } from '../witness';
import { Refusal } from './kit';

const MOST_IN_STRIP = 4096;

export interface PictureProps {
  readonly id: string;
  readonly text: string;
  /** Whether memory is left out. */
  readonly hides?: boolean;
  /** What is to be outlined: indices, or values of an expression's variables. */
  readonly marks?: Witness | null;
}

export function Picture(props: PictureProps) {
  const asked = useAnswer<Reading>(readRequest(props.text));
  if (asked.value === null) return asked.error === null ? null : <Refusal error={asked.error} text={props.text} />;
  const reading = asked.value;
  if (reading.kind === 'kernel') return <p class="faint">A kernel has its picture in the modes Kernel and Film.</p>;
  return reading.kind === 'layout' ? <LayoutPicture {...props} reading={reading} /> : <ViewPicture {...props} reading={reading} />;
}

const ViewPicture = (props: PictureProps & { reading: Reading }) => <RequestPicture {...props} request={viewRequest(props.reading)} />;

/** The field of a `view` request, and a number that counts up when more of it has come; the last good one while a newer is asked for. */
export function useField(request: Request | null): { readonly asked: Asked<ViewAnswer>; readonly field: Field | null; readonly version: number } {
  const asked = useAnswer<ViewAnswer>(request);
  const [version, setVersion] = useState(0);
  const frame = useRef(0);
  const key = JSON.stringify(request);
  const field = useMemo(() => {
    if (request === null || asked.value === null || asked.pending || asked.value.shape.some((n) => typeof n !== 'number')) return null;
    return new AskedField(asked.value.shape.map(Number), request, () => {
      // Tiles come one after the other: they are drawn together, once a frame.
      cancelAnimationFrame(frame.current);
      frame.current = requestAnimationFrame(() => setVersion((v) => v + 1));
    });
  }, [asked.value, asked.pending, key]);
  const last = useRef<Field | null>(null);
  if (field !== null) last.current = field;
  return { asked, field: last.current, version };
}

/** The picture of a `view` request. */
export function RequestPicture(props: Omit<PictureProps, 'text'> & { request: Request }) {
  const { request } = props;
  const { asked, field, version } = useField(request);
  if (asked.error !== null) return <Refusal error={asked.error} />;
  if (asked.value === null) return null;
  if (asked.value.shape.some((n) => typeof n !== 'number')) return <p class="faint">Its sizes are symbolic: the mode Symbolic draws it.</p>;
  if (field === null) return null;
  const names = Object.keys((request as { vars?: object }).vars ?? {});
  return <Drawn {...props} field={field} version={version} names={names} request={request} size={Number(asked.value.size ?? sizeOf(asked.value.shape.map(Number)))} />;
}

interface DrawnProps extends Omit<PictureProps, 'text'> {
  readonly field: Field;
  readonly version: number;
  readonly names: readonly string[];
  readonly request: Request;
  readonly size: number;
}

function Drawn(props: DrawnProps) {
  const small = props.size <= MOST_IN_STRIP;
  const all = useAnswer<ViewAnswer>(small ? addressesRequest(props.request) : null);
  const addresses = all.value === null ? null : numbersOf((all.value as unknown as { addresses: unknown }).addresses, all.arrays);
  const [least, most] = addresses === null ? [0, props.size - 1] : rangeOf(addresses);
  const shade = amountShade(least, most);
  const marks = (props.marks ?? []).map((at) => indexOf(at, props.request));
  const isMarked = (c: readonly number[]): boolean => marks.some((m) => c.length === m.length && c.every((v, d) => v === m[d]));
  const { expr, vars } = props.request as { expr?: string; vars?: Record<string, readonly [number, number]> };
  const firsts = expr === undefined ? [] : Object.values(vars ?? {}).map(([least]) => least);
  const outline = marks.length === 0 ? undefined : (c: readonly number[]): string | null => (isMarked(c) ? '#d55e00' : null);
  return (
    <>
      <GridView id={props.id} label="Addresses" field={props.field} shade={shade} version={props.version} names={props.names} firsts={firsts} outline={outline} />
      {props.hides === true || addresses === null ? null : <MemoryStrip id={`${props.id}-memory`} addresses={addresses} shade={shade} />}
    </>
  );
}

/** Coordinates as an index: an expression's variables begin at their least values. */
function indexOf(at: readonly number[], request: Request): readonly number[] {
  const { expr, vars } = request as { expr?: string; vars?: Record<string, readonly [number, number]> };
  if (expr === undefined || vars === undefined) return at;
  const least = Object.values(vars).map(([first]) => first);
  return at.map((v, d) => v - (least[d] ?? 0));
}

function MemoryStrip(props: { id: string; addresses: ArrayLike<number>; shade: Shade }) {
  const [least, most] = rangeOf(props.addresses);
  const touched = useMemo(() => touchesOf(props.addresses), [props.addresses]);
  return <Strip id={props.id} label="Memory" touched={touched} first={Math.min(0, least)} last={Math.max(0, most)} shade={props.shade} />;
}

export function rangeOf(addresses: ArrayLike<number>): [number, number] {
  let least = Infinity, most = -Infinity;
  for (let i = 0; i < addresses.length; ++i) {
    const a = addresses[i] ?? NaN;
    if (a < least) least = a;
    if (a > most) most = a;
  }
  return least <= most ? [least, most] : [0, 0];
}

// --- layouts ---

function LayoutPicture(props: PictureProps & { reading: Reading }) {
  const table = useAnswer<{ layout?: string; table?: unknown; value?: unknown }>(props.reading.request);
  const numbers = useMemo(() => numbersOf(table.value?.table, table.arrays), [table.value]);
  if (table.error !== null) return <Refusal error={table.error} />;
  if (table.value === null) return null;
  if (numbers === null) return <p class="mono">{JSON.stringify(table.value.value ?? table.value.layout)}</p>;
  const shape = modeSizes(table.value.layout ?? '', numbers.length);
  const field = new ListField(shape, rowMajor(numbers, shape));
  const [least, most] = rangeOf(numbers);
  return (
    <>
      <GridView id={props.id} label={`Layout ${table.value.layout ?? ''}`} field={field} shade={amountShade(least, most)} names={shape.map((_, i) => `mode ${i}`)} />
      {props.hides === true || numbers.length > MOST_IN_STRIP ? null : <MemoryStrip id={`${props.id}-memory`} addresses={numbers} shade={amountShade(least, most)} />}
    </>
  );
}

/** The sizes of a layout's modes as it prints them; one size where it is no tuple. */
export function modeSizes(layout: string, size: number): number[] {
  const sizes = layout.slice(0, splitAt(layout));
  if (!sizes.startsWith('(')) return [size];
  const modes: number[] = [];
  let depth = 0, product = 1, digits = '';
  for (const c of sizes) {
    if (/\d/.test(c)) digits += c;
    else if (digits !== '') [product, digits] = [product * Number(digits), ''];
    if (c === '(') depth += 1;
    if ((c === ',' && depth === 1) || (c === ')' && depth === 1)) {
      modes.push(product);
      product = 1;
    }
    if (c === ')') depth -= 1;
  }
  return modes.reduce((a, b) => a * b, 1) === size && modes.length > 0 ? modes : [size];
}

/** Where the strides begin: at the colon outside of all brackets. */
function splitAt(layout: string): number {
  let depth = 0;
  for (let i = 0; i < layout.length; ++i) {
    if (layout[i] === '(') depth += 1;
    else if (layout[i] === ')') depth -= 1;
    else if (layout[i] === ':' && depth === 0) return i;
  }
  return layout.length;
}

/** A table with its first mode fastest as one with its last mode fastest; modes 0 and 1 are rows and columns, later ones panels. */
export function rowMajor(table: ArrayLike<number>, shape: readonly number[]): Float64Array {
  const out = new Float64Array(table.length);
  const steps: number[] = [];
  shape.reduce((step, n) => (steps.push(step), step * n), 1);
  const index = shape.map(() => 0);
  for (let i = 0; i < out.length; ++i) {
    out[i] = table[index.reduce((sum, v, d) => sum + v * (steps[d] ?? 0), 0)] ?? NaN;
    for (let d = shape.length - 1; d >= 0; --d) {
      index[d] = (index[d] ?? 0) + 1;
      if ((index[d] ?? 0) < (shape[d] ?? 1)) break;
      index[d] = 0;
    }
  }
  return out;
}
