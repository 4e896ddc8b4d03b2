// The pictures: operands, result, memory; each linked to the others.
import { useMemo } from 'preact/hooks';
import { amountShade, inkOn, kindColour, theme } from '../../draw/colours';
import { GridView } from '../../draw/GridView';
import type { Spot } from '../../draw/grid';
import { hover } from '../../hover';
import { param, update, whole } from '../../state';
import { Choice, NumberField, Panel } from '../../ui/kit';
import type { Machine } from './access';
import { coordinateText, type Drawn, indexIn, type Work } from './drawn';
import { tikz } from './latex';
import { type Model } from './model';
import { isMeant, marks, pointed, runs } from './pointed';
import { bankOf, byColour, type Colour, COLOURS, lineOf, type Paint, shadeOf, type Text, TEXTS } from './shades';


/** How all pictures are painted. */
export interface Look {
  readonly paint: Paint;
  readonly text: Text;
}

export function lookOf(model: Model, work: Work, machine: Machine): Look {
  const said = param('colour') as Colour;
  const linked = model.link !== null && model.link.parts > 0;
  const colour: Colour = COLOURS.some(([name]) => name === said) ? said : linked ? 'part' : 'address';
  const text = TEXTS.find(([name]) => name === param('cell'))?.[0] ?? (['thread', 'value', 'both'].includes(colour) ? 'thread' : colour === 'bank' ? 'bank' : 'address');
  return { paint: { colour, work, machine, link: model.link, only: whole('only', -1, 0, work.threads - 1), paper: theme().paper }, text };
}

export function cellText(d: Drawn, at: (i: number) => number, look: Look, index: number): string {
  const { work, machine } = look.paint;
  if (look.text === 'index') return String(index);
  if (look.text === 'coordinate') return coordinateText(d, index);
  if (look.text === 'thread') return `T${work.thread(index)}${work.values > 1 ? `V${work.value(index)}` : ''}`;
  return String(look.text === 'bank' ? bankOf(at(index), machine) : at(index));
}

/** A picture whose cells are the result's, with addresses as `at` says. */
export function ResultGrid(props: { id: string; label: string; model: Model; look: Look; at: (index: number) => number }) {
  const { model, look, at, id } = props;
  const d = model.result;
  const { paint } = look;
  const p = pointed(model);
  const key = d === null ? '' : d.text;
  const offers = useMemo(
    () =>
      d === null
        ? {}
        : { latex: () => tikz(d, (i) => shadeOf(d, at, paint).colour(i), inkOn, (i) => cellText(d, at, look, i)), json: () => jsonOf(d, at, paint.work) },
    [key, at, paint.colour, paint.only, paint.work.mode, look.text, model.link],
  );
  if (d === null) return null;
  const index = (place: readonly number[]): number => indexIn(d.sizes, place);
  const parts = paint.colour === 'part' && model.link !== null ? model.link : null;
  return (
    <GridView
      id={id}
      label={props.label}
      field={d.field}
      names={d.names}
      shade={shadeOf(d, at, paint)}
      text={(i) => cellText(d, at, look, i)}
      most={720}
      focus={marks(d, p?.result ?? null)}
      outline={(place) => (p !== null && p.result === null && isMeant(model, p, index(place), at(index(place)), paint.work, paint.machine) ? theme().accent : null)}
      {...(parts === null ? {} : { group: (place: readonly number[]) => parts.part(index(place)) })}
      tell={(spot: Spot) => ({ address: at(index(spot.coordinate)), thread: paint.work.thread(index(spot.coordinate)), value: paint.work.value(index(spot.coordinate)) })}
      onPick={(spot) => isolate(paint.work.thread(index(spot.coordinate)), paint.only)}
      offers={offers}
    />
  );
}

export const isolate = (thread: number, only: number): void => update({ only: thread === only ? undefined : String(thread) });

const jsonOf = (d: Drawn, at: (i: number) => number, work: Work): unknown => ({
  layout: d.text, shape: d.layout.shape, stride: d.layout.stride, size: d.size, threads: work.threads, values: work.values,
  table: d.size <= 1 << 16 ? Array.from({ length: d.size }, (_, i) => at(i)) : null,
});

/** An operand, coloured as the result is: tiles in A, copies in B. */
export function OperandGrid(props: { id: 'operand-a' | 'operand-b'; label: string; model: Model; drawn: Drawn; look: Look }) {
  const { model, drawn: d, id } = props;
  const { link, result } = model;
  const p = pointed(model);
  const isA = id === 'operand-a';
  const shown = p === null ? null : p.from === id || p.result !== null ? (isA ? p.a : p.b) : null;
  const parts = props.look.paint.colour === 'part' && link !== null && link.parts > 0;
  // Of a divide, the tile that each index of A is in.
  const tileOf = useMemo(() => {
    if (!parts || !isA || link === null || result === null || model.op.family !== 'divide') return null;
    const out = new Map<number, number>();
    for (let i = 0; i < result.size; ++i) out.set(link.a(i) ?? -1, link.part(i) ?? 0);
    return out;
  }, [parts, isA, link, result]);
  const amounts = amountShade(d.least, d.most);
  const copies = parts && !isA && model.op.family === 'product';
  const shade = tileOf !== null ? byColour((i) => partColour(tileOf.get(i))) : copies ? byColour(partColour) : byColour((i) => amounts.colour(d.at(i)));
  return (
    <GridView
      id={id}
      label={props.label}
      field={d.field}
      names={d.names}
      shade={shade}
      text={(i) => String(d.at(i))}
      most={480}
      focus={marks(d, shown)}
      {...(tileOf === null ? {} : { group: (place: readonly number[]) => tileOf.get(indexIn(d.sizes, place)) ?? null })}
      tell={(spot) => ({ address: d.at(indexIn(d.sizes, spot.coordinate)) })}
    />
  );
}

const partColour = (part: number | undefined): string => (part === undefined ? '#999999' : kindColour(part));

export function Controls({ model, look }: { model: Model; look: Look }) {
  const d = model.result;
  const colours = COLOURS.filter(([name]) => name !== 'part' || (model.link !== null && model.link.parts > 0));
  return (
    <div class="fields">
      <Choice label="Colour" value={look.paint.colour} options={colours} onChange={(colour) => update({ colour })} />
      <Choice label="Cells say" value={look.text} options={TEXTS} onChange={(cell) => update({ cell })} />
      {d !== null && d.sizes.length > 1 ? (
        <Choice
          label="Threads are"
          value={String(look.paint.work.mode)}
          options={d.sizes.map((size, k) => [String(k), `mode ${k} (${size})`] as const)}
          onChange={(threads) => update({ threads: threads === '0' ? undefined : threads, only: undefined, request: undefined })}
        />
      ) : null}
      <span class="note">
        {look.paint.only < 0 ? 'A click shows one thread alone.' : `Thread ${look.paint.only} alone. `}
        {look.paint.only < 0 ? null : (
          <button type="button" class="copy" onClick={() => update({ only: undefined })}>
            all threads
          </button>
        )}
      </span>
    </div>
  );
}

/** What is pointed at, in words, on one line. */
export function Where({ model, look, at }: { model: Model; look: Look; at: (i: number) => number }) {
  const p = pointed(model);
  const d = model.result;
  return <p class="whereabouts long">{p === null || d === null ? 'Point at a cell, or move with the arrow keys.' : words(model, look, at, d).join(' · ')}</p>;
}

function words(model: Model, look: Look, at: (i: number) => number, d: Drawn): string[] {
  const p = pointed(model);
  const { work, machine } = look.paint;
  if (p === null) return [];
  if (p.result === null) {
    const out: string[] = [];
    if (p.a !== null && model.a !== null) out.push(`A at ${coordinateText(model.a, p.a)} = ${model.a.at(p.a)}`);
    if (p.b !== null && model.b !== null && p.from === 'operand-b') out.push(`B at ${coordinateText(model.b, p.b)} = ${model.b.at(p.b)}`);
    if (p.threads.length > 0) out.push(`${p.threads.length === 1 ? 'thread' : 'threads'} ${runs(p.threads)}`);
    if (p.threads.length > 0 && p.values[1] < Infinity) out.push(p.values[0] === p.values[1] ? `value ${p.values[0]} of each` : `values ${p.values.join('–')} of each`);
    if (p.address !== null && out.length === 0) out.push(`value ${p.address}`);
    if (p.cacheLine !== null) out.push(`cache line ${p.cacheLine}`);
    const bank = hover.value?.coordinate?.at(-1);
    if (p.from === 'banks' && bank !== undefined) out.push(`bank ${bank}`);
    return out.length === 0 ? [' '] : out;
  }
  const value = at(p.result);
  return [
    coordinateText(d, p.result), `index ${p.result}`, `value ${value}`, `thread ${work.thread(p.result)}, its value ${work.value(p.result)}`,
    `bank ${bankOf(value, machine)}`, `line ${lineOf(value, machine)}`,
    ...(p.a !== null && model.a !== null ? [`A at ${coordinateText(model.a, p.a)}`] : []),
    ...(p.b !== null && model.b !== null ? [`B at ${coordinateText(model.b, p.b)}`] : []),
  ];
}

/** Memory in rows of the user's choice: which thread has each element. */
export function MemoryPanel({ model, look, at }: { model: Model; look: Look; at: (i: number) => number }) {
  const d = model.result;
  const owners = useMemo(() => ownersOf(d, at), [d, at]);
  if (d === null || owners === null) return null;
  const rows = whole('rows', defaultRows(owners.span), 1, owners.span);
  const byRows = param('order') === 'rows';
  const cols = Math.ceil(owners.span / rows);
  const addressOf = (place: readonly number[]): number => owners.begin + (byRows ? (place[0] ?? 0) * cols + (place[1] ?? 0) : (place[0] ?? 0) + rows * (place[1] ?? 0));
  const p = pointed(model);
  const shade = shadeOf(d, at, look.paint);
  const first = (a: number): number => Math.max(0, owners.first[a - owners.begin] ?? 0);
  const { shared } = owners;
  return (
    <Panel title="Memory as a tile" note={`${owners.of.size} of ${owners.span} elements touched${shared > 0 ? `, ${shared} more than once` : ''}`}>
      <div class="fields">
        <NumberField label="Rows" value={rows} min={1} max={owners.span} onChange={(n) => update({ rows: String(n) }, 'rows')} />
        <Choice label="Order" value={byRows ? 'rows' : 'columns'} options={[['columns', 'down the columns'], ['rows', 'along the rows']]} onChange={(order) => update({ order: order === 'rows' ? order : undefined })} />
      </div>
      <GridView
        id="memory"
        label="Memory as a tile"
        field={{
          shape: [rows, cols],
          span: (_, row, begin, out) => {
            for (let k = 0; k < out.length; ++k) {
              const a = addressOf([row, begin + k]);
              out[k] = (owners.first[a - owners.begin] ?? -1) < 0 ? NaN : a;
            }
          },
        }}
        shade={byColour((a) => shade.colour(first(a)))}
        text={(a) => ownerText(d, at, look, owners.of.get(a) ?? [], a)}
        most={560}
        focus={{ address: p?.result == null ? null : at(p.result), coordinate: p?.from === 'memory' ? (hover.value?.coordinate ?? null) : null }}
        outline={(place) => {
          const list = owners.of.get(addressOf(place));
          const meant = p !== null && p.result === null && p.from !== 'memory' && list?.some((i) => isMeant(model, p, i, addressOf(place), look.paint.work, look.paint.machine)) === true;
          return meant ? theme().accent : null;
        }}
        onPick={(spot) => spot.address != null && isolate(look.paint.work.thread(first(spot.address)), look.paint.only)}
      />
    </Panel>
  );
}

function ownerText(d: Drawn, at: (i: number) => number, look: Look, list: readonly number[], address: number): string {
  if (look.text === 'address') return String(address);
  const text = list.length === 0 ? '·' : cellText(d, at, look, list[0] ?? 0);
  return list.length > 1 ? `${text}+${list.length - 1}` : text;
}

interface Owners {
  readonly begin: number;
  readonly span: number;
  readonly of: ReadonlyMap<number, readonly number[]>;
  /** The first index that leads to each element from `begin` on, -1 for none. */
  readonly first: Int32Array;
  /** Elements that several indices lead to. */
  readonly shared: number;
}
const MOST_MEMORY = 1 << 16;

/** The indices that lead to each address; null where there are too many to look at. */
function ownersOf(d: Drawn | null, at: (i: number) => number): Owners | null {
  if (d === null || d.size > MOST_MEMORY) return null;
  const of = new Map<number, number[]>();
  let [least, most] = [Infinity, -Infinity];
  for (let i = 0; i < d.size; ++i) {
    const a = at(i);
    least = Math.min(least, a);
    most = Math.max(most, a);
    const list = of.get(a);
    if (list === undefined) of.set(a, [i]);
    else list.push(i);
  }
  const begin = Math.min(0, least);
  const span = most - begin + 1;
  if (span > MOST_MEMORY * 4) return null;
  const first = new Int32Array(span).fill(-1);
  for (const [a, list] of of) first[a - begin] = list[0] ?? -1;
  return { begin, span, of, first, shared: [...of.values()].filter((list) => list.length > 1).length };
}

const defaultRows = (span: number): number => Math.max(1, 2 ** Math.floor(Math.log2(Math.sqrt(span))));
