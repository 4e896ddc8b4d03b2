// A chain of movement operations: each step, each View of the stack on its own, and why there is more than one.
import { useEffect } from 'preact/hooks';
import { type Asked, useAnswer } from '../../ask';
import type { ViewAnswer } from '../../answers';
import { amountShade, type Shade } from '../../draw/colours';
import { ListField, numbersOf } from '../../draw/field';
import { GridView } from '../../draw/GridView';
import { Strip, touchesOf } from '../../draw/Strip';
import { hover } from '../../hover';
import { read, setBoxText } from '../../reading';
import { param, update, whole } from '../../state';
import { Elsewhere } from '../../ui/Elsewhere';
import { Choice, Field, Panel, Refusal, Slider, Spelling } from '../../ui/kit';
import { ridx } from '../../values';
import { Whereabouts } from '../../ui/Whereabouts';
import type { Mode } from '../mode';
import { type Chain, chainOf, chainText, MOVEMENTS, type Op, opText, stateRequest, tuple } from './chain';
import { elementOf, Stage, unravel } from './Stage';

const MOST_CELLS = 2048;

function Page() {
  const { reading } = read.value;
  const request = reading?.kind === 'view' ? reading.request : null;
  const start = useAnswer<ViewAnswer>(request === null ? null : { ...request, ops: [], simplify: false });
  if (reading === null || request === null) return <Elsewhere wants="a stack of Views" example="(3,4).pad((1,1),(0,2)).flip(1)" />;
  if (start.error !== null) return <Refusal error={start.error} />;
  if (start.value === null) return null;
  if (Object.keys(reading.vars).length > 0) return <Elsewhere wants="sizes that are numbers; symbolic ones have sliders in the mode Symbolic" example="(3,4).pad((1,1),(0,2)).flip(1)" />;
  return <Steps chain={chainOf(request, start.value.text)} />;
}

function Steps({ chain }: { chain: Chain }) {
  const count = chain.ops.length;
  const step = whole('step', count, 0, count);
  const now = useAnswer<ViewAnswer>(stateRequest(chain, step, { why: true, addresses: true }));
  const before = useAnswer<ViewAnswer>(step === 0 ? null : stateRequest(chain, step - 1, { addresses: true }));
  const op = chain.ops[step - 1];
  const moved = useAnswer<ViewAnswer>(
    op === undefined || before.value === null ? null : { do: 'view', shape: before.value.shape, ops: [op], simplify: false, addresses: true },
  );
  const state = stageOf(now), past = stageOf(before);
  const from = moved.value === null || moved.pending ? null : numbersOf((moved.value as unknown as { addresses: unknown }).addresses, moved.arrays);
  const span = Math.max(0, Number(now.value?.real_size ?? 1) - 1);
  const shade = amountShade(0, span);
  const fits = from !== null && state !== null && past !== null && from.length === state.addresses.length;
  return (
    <div class="panels">
      <Panel title="Chain" note={`${count} ${count === 1 ? 'operation' : 'operations'}`}>
        <ChainEditor chain={chain} step={step} />
      </Panel>
      <Panel title={step === 0 || op === undefined ? 'The start' : `After ${opText(op).slice(1)}`} note={`shape ${tuple(now.value?.shape ?? [])}`}>
        <Player step={step} count={count} />
        {now.error !== null ? <Refusal error={now.error} /> : null}
        {state === null ? null : state.addresses.length > MOST_CELLS ? (
          <p class="faint">More than {MOST_CELLS} elements: their picture is in the mode Shape.</p>
        ) : (
          <Stage state={state} before={fits ? past : null} from={fits ? from : null} shade={shade} step={step} />
        )}
        <Whereabouts formula={now.value === null ? null : { text: now.value.idx, names: ridx(now.value.shape.length) }} />
      </Panel>
      {now.value === null ? null : <Stack view={now.value} shade={shade} />}
      {now.value === null ? null : <Merging chain={chain} step={step} view={now.value} />}
    </div>
  );
}

function stageOf(asked: Asked<ViewAnswer>): { shape: number[]; addresses: Float64Array } | null {
  if (asked.value === null || asked.pending) return null;
  const addresses = numbersOf((asked.value as unknown as { addresses: unknown }).addresses, asked.arrays);
  return addresses === null ? null : { shape: asked.value.shape.map(Number), addresses };
}

// --- the chain ---

function ChainEditor({ chain, step }: { chain: Chain; step: number }) {
  const write = (ops: readonly Op[], at: number): void => update({ q: chainText(chain, ops), step: String(Math.min(at, ops.length)) }, 'chain');
  const shape = useAnswer<ViewAnswer>(stateRequest(chain, chain.ops.length));
  return (
    <>
      <ol class="chain" start={0}>
        <li class={step === 0 ? 'here' : ''}>
          <button type="button" aria-pressed={step === 0} onClick={() => update({ step: '0' })}>
            {chain.start}
          </button>
        </li>
        {chain.ops.map((op, i) => (
          <Link key={i} op={op} here={step === i + 1} at={i} chain={chain} onShow={() => update({ step: String(i + 1) })} onChange={(ops, at) => write(ops, at)} />
        ))}
      </ol>
      <Choice
        label="Add"
        value=""
        options={[['', 'an operation…'], ...Object.entries(MOVEMENTS).map(([name, m]) => [name, `${name}: ${m.about}`] as const)]}
        onChange={(name) => {
          const movement = MOVEMENTS[name];
          if (movement === undefined) return;
          const argument = movement.example((shape.value?.shape ?? []).map(Number));
          write([...chain.ops, [name, argument]], chain.ops.length + 1);
        }}
      />
    </>
  );
}

function Link(props: { op: Op; here: boolean; at: number; chain: Chain; onShow: () => void; onChange: (ops: readonly Op[], at: number) => void }) {
  const { op, at, chain } = props;
  const after = useAnswer<ViewAnswer>(stateRequest(chain, at + 1));
  const views = after.value?.views.length ?? 1;
  const swap = (other: number): void => {
    const ops = [...chain.ops];
    const mine = ops[at], its = ops[other];
    if (mine === undefined || its === undefined) return;
    [ops[at], ops[other]] = [its, mine];
    props.onChange(ops, other + 1);
  };
  return (
    <li class={props.here ? 'here' : ''}>
      <button type="button" aria-pressed={props.here} onClick={props.onShow}>
        {op[0]}
      </button>
      <Field
        label={`Argument of ${op[0]}, step ${at + 1}`}
        hideLabel
        width="18ch"
        value={tuple(op[1])}
        onChange={(text) => {
          const written = chain.ops.map((o, i) => (i === at ? `.${op[0]}(${text})` : opText(o)));
          setBoxText(chain.declarations + chain.start + written.join(''), 'argument');
        }}
      />
      <span class="note">{after.error !== null ? <span class="bad">{after.error.message}</span> : `${tuple(after.value?.shape ?? [])}${views > 1 ? `, ${views} Views` : ''}`}</span>
      <span class="spring" />
      <span class="row-buttons">
        <button type="button" disabled={at === 0} aria-label={`Move step ${at + 1} up`} onClick={() => swap(at - 1)}>
          ↑
        </button>
        <button type="button" disabled={at === chain.ops.length - 1} aria-label={`Move step ${at + 1} down`} onClick={() => swap(at + 1)}>
          ↓
        </button>
        <button type="button" aria-label={`Remove step ${at + 1}`} onClick={() => props.onChange(chain.ops.filter((_, i) => i !== at), at)}>
          ×
        </button>
      </span>
    </li>
  );
}

function Player({ step, count }: { step: number; count: number }) {
  const playing = param('play') === '1';
  useEffect(() => {
    if (!playing) return;
    const timer = setTimeout(() => update(step >= count ? { play: undefined } : { step: String(step + 1) }, 'play'), 1100);
    return () => clearTimeout(timer);
  }, [playing, step]);
  return (
    <div class="fields buttons-row">
      <button type="button" onClick={() => update(playing ? { play: undefined } : { play: '1', step: step >= count ? '0' : String(step) }, 'play')}>
        {playing ? 'Pause' : 'Play'}
      </button>
      <Slider label="Step" min={0} max={count} value={step} onChange={(v) => update({ step: String(v), play: undefined }, 'step')} />
    </div>
  );
}

// --- the stack, View by View ---

interface Level {
  readonly shape: readonly number[];
  readonly addresses: Float64Array;
}

/** What is pointed at, as an index in each View, the one that takes the indices first; null below a masked one. */
export function descend(levels: readonly Level[], element: number): (number | null)[] {
  const out: (number | null)[] = [];
  let at: number | null = element;
  for (const level of levels) {
    out.push(at);
    const a: number = at === null ? NaN : (level.addresses[at] ?? NaN);
    at = Number.isNaN(a) ? null : a;
  }
  return [...out, at];
}

function Stack({ view, shade }: { view: ViewAnswer; shade: Shade }) {
  const top = [...view.views].reverse();
  return (
    <Panel wide title={top.length === 1 ? 'One View, from the indices to memory' : `${top.length} Views, from the indices down to memory`} note="point at a cell: each View shows the place that it leads to">
      <div class="stack">
        <Levels views={top} shade={shade} span={Number(view.real_size ?? 1)} text={view.text} />
      </div>
    </Panel>
  );
}

function Levels(props: { views: ViewAnswer['views']; shade: Shade; span: number; text: string }) {
  const { views } = props;
  const first = useLevel(views[0]), second = useLevel(views[1]), third = useLevel(views[2]), fourth = useLevel(views[3]);
  const levels = [first, second, third, fourth].slice(0, Math.min(4, views.length));
  if (levels.some((l) => l === null)) return <p class="faint">The Views have more than {MOST_CELLS} elements.</p>;
  const known = levels as Level[];
  const places = placesOfHover(known);
  const way = places.length === 0 ? 'Point at a cell of any View.' : wayText(known, places);
  const last = known.at(-1);
  return (
    <>
      {known.map((level, k) => {
        const below = known[k + 1];
        const most = below === undefined ? props.span - 1 : below.addresses.length - 1;
        const at = places[k];
        return (
          <div class="level" key={k}>
            <h3>{k === 0 ? 'takes the indices' : `takes the addresses of the View above, as indices of ${tuple(level.shape)}`}</h3>
            <GridView
              id={`view-${views.length - 1 - k}`}
              label={`View ${views.length - 1 - k}`}
              field={new ListField(level.shape, level.addresses)}
              shade={below === undefined ? props.shade : amountShade(0, Math.max(0, most))}
              most={260}
              focus={{ coordinate: at === undefined || at === null ? null : unravel(at, level.shape), address: places[k + 1] ?? null }}
            />
            <p class="mono">{views[k] === undefined ? '' : `shape ${tuple(views[k]?.shape)}  strides ${tuple(views[k]?.strides)}  offset ${views[k]?.offset}${views[k]?.mask === null ? '' : `  mask ${tuple(views[k]?.mask)}`}`}</p>
          </div>
        );
      })}
      {views.length > 4 ? <p class="faint">{views.length - 4} more Views lie below.</p> : null}
      {last === undefined ? null : (
        <div class="level">
          <h3>memory</h3>
          <Strip id="memory" label="Memory" touched={touchesOf(last.addresses)} first={0} last={Math.max(0, props.span - 1)} shade={props.shade} />
        </div>
      )}
      <p class="whereabouts way">{way}</p>
    </>
  );
}

/** A View alone, all of it. */
function useLevel(view: ViewAnswer['views'][number] | undefined): Level | null {
  const small = view !== undefined && view.shape.reduce<number>((a, b) => a * Number(b), 1) <= MOST_CELLS;
  const { contiguous: _, ...said } = view ?? { contiguous: true };
  const asked = useAnswer<ViewAnswer>(small ? { do: 'view', views: [said], simplify: false, addresses: true } : null);
  return stageOf(asked);
}

/** The row-major number that is pointed at in each View, and the address last. */
function placesOfHover(levels: readonly Level[]): (number | null)[] {
  const at = hover.value;
  const [top] = levels;
  if (at === null || top === undefined) return [];
  const view = /^view-(\d+)$/.exec(at.from);
  const k = at.from === 'stage' ? 0 : view === null ? -1 : levels.length - 1 - Number(view[1]);
  const level = levels[k];
  if (level !== undefined && at.coordinate !== undefined && at.coordinate.length === level.shape.length) {
    const element = elementOf(at.coordinate, level.shape);
    return [...climb(levels.slice(0, k), element), ...descend(levels.slice(k), element)];
  }
  if (at.address === undefined || at.address === null) return [];
  return [...climb(levels, at.address), at.address];
}

/** The way that an index goes: through each View to its address. */
export function wayText(levels: readonly Level[], places: readonly (number | null)[]): string {
  const steps = levels.map((level, k) => {
    const at = places[k];
    const name = `View ${levels.length - 1 - k}`;
    return at === null || at === undefined ? `${name}: nothing` : `${name}: number ${at} = (${unravel(at, level.shape).join(', ')})`;
  });
  const address = places[levels.length];
  return [...steps, address === null || address === undefined ? 'masked' : `address ${address}`].join(' → ');
}

/** From an address up: the first element of each View that leads to it. */
export function climb(levels: readonly Level[], address: number): (number | null)[] {
  const out: (number | null)[] = [];
  let at: number | null = address;
  for (const level of [...levels].reverse()) {
    const found: number = at === null ? -1 : level.addresses.indexOf(at);
    at = found < 0 ? null : found;
    out.unshift(at);
  }
  return out;
}

// --- merging ---

function Merging({ chain, step, view }: { chain: Chain; step: number; view: ViewAnswer }) {
  const merged = useAnswer<ViewAnswer>({ ...stateRequest(chain, step), simplify: true });
  const after = merged.value;
  if (after === null) return null;
  const [from, to] = [view.views.length, after.views.length];
  return (
    <Panel wide title={from === 1 ? 'One View says it' : to < from ? `simplify() merges ${from} Views into ${to}` : `Why ${from} Views?`}>
      {from > 1 && to > 1 && view.why !== undefined && view.why !== '' ? <p class="why">{view.why}</p> : null}
      {from > to ? <p>The operations rewrite the top View alone, and put another on it where that cannot say the result. simplify() looks at the whole stack.</p> : null}
      <Spelling name="text" text={view.text} />
      <Spelling name="index" text={view.idx} />
      <Spelling name="valid" text={view.valid} />
      {from > to ? <Spelling name="simplified" text={after.text} /> : null}
      {after.idx !== view.idx ? <Spelling name="its index" text={after.idx} /> : null}
    </Panel>
  );
}

export const movement: Mode = { id: 'movement', title: 'Movement', about: 'A chain of movement operations: what each does, each View of the stack on its own, and why there is more than one.', Page };
