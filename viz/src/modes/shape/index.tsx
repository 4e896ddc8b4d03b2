// Shape and stride: one View by its boxes, the box of its elements, the strip of memory that they come from.
import { useEffect, useMemo } from 'preact/hooks';
import { type Asked, type Request, useAnswer } from '../../ask';
import type { ViewAnswer, ViewOfStack } from '../../answers';
import { amountShade, type Shade } from '../../draw/colours';
import { numbersOf } from '../../draw/field';
import { GridView } from '../../draw/GridView';
import { Strip, touchesOf } from '../../draw/Strip';
import { offer } from '../../export';
import type { Hover } from '../../hover';
import { boxText, read, type Reading } from '../../reading';
import { param, update } from '../../state';
import { Elsewhere } from '../../ui/Elsewhere';
import { Choice, Panel, Refusal, Spelling, Switch } from '../../ui/kit';
import { useField } from '../../ui/Picture';
import { Whereabouts } from '../../ui/Whereabouts';
import { tuple } from '../movement/chain';
import type { Mode } from '../mode';
import { ViewBoxes } from './Boxes';
import { linesOf, rangeOf, Touches } from './touches';
import { ridx } from '../../values';
import { boxesOf, plain, type Plain, readBoxes } from './view';

const EXAMPLE = 'View(shape=(2, 2), strides=(2, 1))';
const MOST_COUNTED = 1 << 16;

type Latex = ViewAnswer & { readonly idx_latex: string; readonly valid_latex: string };

function Page() {
  const { reading } = read.value;
  const typed = useMemo(() => readBoxes(boxText()), [boxText()]);
  const request = reading?.kind === 'view' ? reading.request : null;
  const asked = useAnswer<Latex>(request === null ? null : { ...request, simplify: true, latex: true });
  // A text that cannot be read may have just come from the boxes: they stay.
  if (request === null && (typed === null || reading !== null)) return <Elsewhere wants="a View" example={EXAMPLE} />;
  const views = asked.value?.views ?? [];
  const [only] = views;
  const boxes = typed ?? (views.length === 1 && only !== undefined && reading !== null ? boxesOf(only, headOf(reading)) : null);
  return (
    <div class="panels">
      <Panel title="View" note={boxes === null ? '' : 'boxes and text are one'}>
        {boxes === null ? views.length > 1 ? <Several count={views.length} /> : null : <ViewBoxes boxes={boxes} />}
        {asked.error === null ? null : <Refusal error={asked.error} />}
        <Looks />
      </Panel>
      {asked.value === null || request === null ? null : <Pictures asked={asked} request={{ ...request, simplify: true }} />}
    </div>
  );
}

const headOf = (reading: Reading): string => Object.entries(reading.vars).map(([name, [least, most]]) => `${name}: ${least}..${most}; `).join('');

function Several({ count }: { count: number }) {
  return (
    <p>
      This is a stack of {count} Views: no single shape and stride says it.{' '}
      <button type="button" onClick={() => update({ mode: 'movement' })}>
        Look at each View in Movement
      </button>
    </p>
  );
}

// --- how it is looked at ---

const isHex = (): boolean => param('hex') === '1';
const BYTES = [1, 2, 4, 8, 16], LINES = [16, 32, 64, 128, 256];
const bytes = (): number => BYTES.find((n) => String(n) === param('bytes')) ?? 4;
const line = (): number => LINES.find((n) => String(n) === param('line')) ?? 64;

/** 0x00, as the specification writes addresses, or as numbers. */
export const addressText = (address: number, hex: boolean): string =>
  hex ? `${address < 0 ? '-' : ''}0x${Math.abs(address).toString(16).padStart(2, '0')}` : String(address);

function Looks() {
  return (
    <div class="fields">
      <Switch label="Addresses as 0x00" value={isHex()} onChange={(on) => update({ hex: on ? '1' : undefined })} />
      <Choice label="Element" value={String(bytes())} options={BYTES.map((n) => [String(n), n === 1 ? '1 byte' : `${n} bytes`] as const)} onChange={(v) => update({ bytes: v === '4' ? undefined : v })} />
      <Choice label="Cache line" value={String(line())} options={LINES.map((n) => [String(n), `${n} bytes`] as const)} onChange={(v) => update({ line: v === '64' ? undefined : v })} />
    </div>
  );
}

function bytesAt(at: Hover): string[] {
  const { address } = at;
  if (address === null || address === undefined) return [];
  return [`byte ${address * bytes()}`, `cache line ${Math.floor((address * bytes()) / line())}`];
}

// --- pictures ---

function Pictures({ asked, request }: { asked: Asked<Latex>; request: Request }) {
  const view = asked.value;
  const { field, version } = useField(request);
  const single = view?.views.length === 1 ? (view.views[0] as ViewOfStack) : null;
  const numbers = useMemo(() => (single === null ? null : plain(single)), [single]);
  const size = Number(view?.size ?? 0);
  const few = size <= MOST_COUNTED && !asked.pending && asked.error === null;
  const all = useAnswer<ViewAnswer & { addresses: unknown }>(few ? { ...request, addresses: true } : null);
  const addresses = useMemo(() => (all.value === null ? null : numbersOf(all.value.addresses, all.arrays)), [all.value]);
  useEffect(() => (view === null ? undefined : offer('view', { json: () => view, latex: () => view.idx_latex })), [view]);
  if (view === null) return null;
  if (view.shape.some((n) => typeof n !== 'number'))
    return (
      <Panel title="Symbolic" note="sizes are no numbers">
        <p>
          <button type="button" onClick={() => update({ mode: 'symbolic' })}>
            Choose sizes by sliders
          </button>
        </p>
        <Facts view={view} addresses={null} numbers={null} />
      </Panel>
    );
  const range = numbers === null ? spanOf(addresses) : rangeOf(numbers);
  const [least, most] = range ?? [0, 0];
  // Memory holds masked elements, too: it is drawn as long as it is without the mask.
  const whole = (numbers === null ? null : rangeOf({ ...numbers, mask: numbers.shape.map((n) => [0, n] as const) })) ?? [least, most];
  const shade = amountShade(Math.min(0, least), Math.max(0, most));
  const text = (a: number): string => addressText(a, isHex());
  return (
    <>
      <Panel title="Elements" note={`shape ${tuple(view.shape)}; each cell has its address, a masked one a point`}>
        {field === null ? null : <GridView id="elements" label={`Elements of shape ${view.shape.join(' by ')}`} field={field} shade={shade} version={version} text={text} />}
        <Whereabouts text={text} formula={{ text: view.idx, names: ridx(view.shape.length) }} more={bytesAt} />
      </Panel>
      <Memory numbers={numbers} addresses={addresses} least={Math.min(least, whole[0])} most={Math.max(most, whole[1])} none={range === null} shade={shade} text={text} />
      <Panel wide title="Facts">
        <Facts view={view} addresses={addresses} numbers={numbers} />
      </Panel>
    </>
  );
}

function spanOf(addresses: Float64Array | null): readonly [number, number] | null {
  let least = Infinity, most = -Infinity;
  for (const a of addresses ?? []) if (!Number.isNaN(a)) [least, most] = [Math.min(least, a), Math.max(most, a)];
  return least <= most ? [least, most] : null;
}

interface MemoryProps {
  readonly numbers: Plain | null;
  readonly addresses: Float64Array | null;
  readonly least: number;
  readonly most: number;
  readonly none: boolean;
  readonly shade: Shade;
  readonly text: (address: number) => string;
}

function Memory(props: MemoryProps) {
  const { numbers, addresses, least, most } = props;
  const counted = useMemo(() => (addresses === null ? null : touchesOf(addresses)), [addresses]);
  const touched = useMemo(() => {
    if (numbers === null) return counted;
    const touches = new Touches(numbers);
    return { get: (a: number) => touches.get(a), ...(counted === null ? {} : { size: counted.size }) };
  }, [numbers, counted]);
  if (touched === null || !Number.isSafeInteger(least) || !Number.isSafeInteger(most)) return null;
  const perLine = line() % bytes() === 0 ? line() / bytes() : 0;
  return (
    <Panel wide title="Memory" note="filled: touched, ×n: by n elements; empty: a gap">
      {props.none ? (
        <p class="faint">No element is valid: nothing is touched.</p>
      ) : (
        <Strip id="memory" label="Memory" touched={touched} first={Math.min(0, least)} last={Math.max(0, most)} shade={props.shade} text={props.text} line={perLine} />
      )}
      {least < 0 ? <p class="bad">Addresses below 0 are before the memory's first element: an offset of {-least} more keeps all inside.</p> : null}
    </Panel>
  );
}

function Facts(props: { view: Latex; addresses: Float64Array | null; numbers: Plain | null }) {
  const { view, addresses } = props;
  // A symbolic amount is a text that is no number.
  const span = typeof view.real_size === 'number' ? view.real_size : null;
  const touched = useMemo(() => (addresses !== null ? new Set([...addresses].filter((a) => !Number.isNaN(a))).size : view.contiguous && typeof view.size === 'number' ? view.size : null), [addresses, view]);
  const lines = useMemo(() => (addresses === null || line() % bytes() !== 0 ? null : linesOf(addresses, line() / bytes())), [addresses, line(), bytes()]);
  return (
    <div class="facts-body">
      <div>
        <Spelling name="index" text={view.idx} />
        <Spelling name="valid" text={view.valid} />
        <Spelling name="LaTeX" text={view.idx_latex} />
        <Spelling name="text" text={view.text} />
      </div>
      <dl class="facts">
        <dt>contiguous</dt>
        <dd>{view.contiguous ? 'yes' : 'no'}</dd>
        <dt>elements</dt>
        <dd>{grouped(view.size)}</dd>
        <dt>memory</dt>
        <dd>{span === null ? (view.real_size === null ? 'depends on the sizes' : `${view.real_size} elements`) : `${grouped(span)} ${span === 1 ? 'element' : 'elements'}, ${grouped(span * bytes())} bytes`}</dd>
        <dt>touched</dt>
        <dd>{touched === null ? (typeof view.size === 'number' ? 'not counted: too many elements' : 'depends on the sizes') : `${grouped(touched)} ${touched === 1 ? 'address' : 'addresses'}`}</dd>
        <dt>cache lines</dt>
        <dd>{lines !== null ? grouped(lines) : span === null ? 'depends on the sizes' : `${view.contiguous ? '' : 'at most '}${grouped(Math.ceil((span * bytes()) / line()))}`}</dd>
      </dl>
    </div>
  );
}

/** Digits in groups of three. */
export const grouped = (n: number | string): string => String(n).replace(/\B(?=(\d{3})+$)/g, '\u202f');

export const shape: Mode = { id: 'shape', title: 'Shape', about: 'One View: sizes, strides, mask and offset in boxes, its elements, and the memory that they come from.', Page };
