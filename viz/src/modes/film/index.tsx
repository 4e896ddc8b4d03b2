// The order in which a kernel's loops touch memory, as a film, and what a cache makes of it.
import { useMemo } from 'preact/hooks';
import { type Numbers, type Request, useAnswer } from '../../ask';
import { read } from '../../reading';
import { param, update } from '../../state';
import { Elsewhere } from '../../ui/Elsewhere';
import { NumberField, Panel, Refusal } from '../../ui/kit';
import { type KernelAnswer, type KernelParts, kernelRequest, type Variables, valuesFor, variablesOf } from '../kernel/answer';
import '../kernel/kernel.css';
import { Opts } from '../kernel/Opts';
import type { Mode } from '../mode';
import { buffersOf, type OrderAnswer } from './buffers';
import { type CacheShape, COLD, CONFLICT, CAPACITY, HIT, OUTCOMES } from './cache';
import './film.css';
import { Film } from './Film';
import { Plot } from './Plot';
import { place, seek } from './player';
import { type Accesses, accessesOf, Replay } from './replay';
import { type Iterations, iterationsOf } from './iterations';

const EXAMPLE = 'a: f32[8,8]; b: f32[8,8]; c = a @ b';

function Page() {
  const { reading, text } = read.value;
  if (reading === null) return null;
  if (reading.kind !== 'kernel') return <Elsewhere wants="a kernel" example={EXAMPLE} />;
  return <Reel request={reading.request} text={text} />;
}

function Reel({ request, text }: { request: Request; text: string }) {
  const asked = kernelRequest(request, 'c');
  const kernel = useAnswer<KernelAnswer>({ ...asked, show: 'axes,uops' });
  const vars = useMemo(() => (kernel.value === null ? {} : variablesOf(kernel.value)), [kernel.value]);
  const values = valuesFor(vars, valuesSaid());
  const order = useAnswer<OrderAnswer>(kernel.value === null || kernel.pending || kernel.error !== null ? null : { ...asked, do: 'order', values });
  const shape = cacheShape();
  const reel = useMemo(() => {
    if (order.value === null || kernel.value === null || order.pending || kernel.pending) return null;
    const list = listOf(order.value.order, order.arrays);
    const accesses = accessesOf(list, order.value.kernels.map((k) => k.accesses));
    const scratch = list.length / 3 - accesses.count;
    return { kernel: kernel.value, buffers: buffersOf(kernel.value, order.value, text, accesses), accesses, scratch, iterations: iterationsOfAll(kernel.value, accesses, order.value.values) };
  }, [order.value, kernel.value, order.pending, kernel.pending]);
  const last = useMemo<{ reel: typeof reel }>(() => ({ reel: null }), []);
  if (reel !== null) last.reel = reel;
  const shown = last.reel;
  const replay = useMemo(() => (shown === null ? null : new Replay(shown.accesses, shown.buffers, shape)), [shown, shape.line, shape.sets, shape.ways]);
  const error = kernel.error ?? order.error;
  return (
    <div class={error === null && reel !== null ? 'film' : 'film dim'} data-pending={kernel.pending || order.pending}>
      {error !== null && kernel.error === null ? <Refusal error={error} /> : null}
      {shown === null || replay === null ? null : <Film kernel={shown.kernel} buffers={shown.buffers} replay={replay} iterations={shown.iterations} scratch={shown.scratch} />}
      <div class="kernel">
        {replay === null || shown === null ? null : <Cache replay={replay} shape={shape} names={shown.buffers} />}
        <div>
          <Values vars={vars} values={values} />
          <Opts text={request} chosen={kernel.value?.opts ?? []} error={kernel.error} />
        </div>
      </div>
    </div>
  );
}

/** Triples in memory, or in the JSON; -1 is a slot here. */
function listOf(list: unknown, arrays: readonly Numbers[]): ArrayLike<number> {
  return Array.isArray(list) ? (list as number[]) : (arrays[(list as { memory: number }).memory] ?? []);
}

/** Of each kernel that runs. */
function iterationsOfAll(kernel: KernelAnswer, accesses: Accesses, values: Readonly<Record<string, number>>): (Iterations | null)[] {
  let first = 0;
  return [...kernel.first, kernel].map((k: KernelParts, part) => {
    const begin = first, count = accesses.parts[part] ?? 0;
    first += count;
    return iterationsOf(k, { count, op: accesses.op.subarray(begin, begin + count) }, values);
  });
}

// --- values of symbolic sizes ---

/** What the link says: `n=50,m=3`. */
function valuesSaid(): Record<string, number> {
  const items = param('values').split(',').map((item) => item.split('='));
  return Object.fromEntries(items.flatMap(([name, value]) => (name === undefined || name === '' || !Number.isInteger(Number(value)) ? [] : [[name, Number(value)]])));
}

function Values(props: { vars: Variables; values: Record<string, number> }) {
  if (Object.keys(props.vars).length === 0) return null;
  const say = (name: string, value: number): void => update({ values: Object.entries({ ...props.values, [name]: value }).map(([n, v]) => `${n}=${v}`).join(',') }, 'values');
  return (
    <Panel title="Sizes">
      {Object.entries(props.vars).map(([name, [least, most]]) => (
        <NumberField key={name} label={name} value={props.values[name] ?? least} min={least} max={most} onChange={(v) => say(name, v)} />
      ))}
    </Panel>
  );
}

// --- the cache ---

const DEFAULTS = { line: 64, sets: 8, ways: 2 } as const;

function cacheShape(): CacheShape {
  const whole = (name: keyof CacheShape): number => Math.max(1, Math.min(LIMITS[name], Math.floor(Number(param(name)) || DEFAULTS[name])));
  return { line: whole('line'), sets: whole('sets'), ways: whole('ways') };
}
const LIMITS: Record<keyof CacheShape, number> = { line: 4096, sets: 65536, ways: 65536 };

function Cache(props: { replay: Replay; shape: CacheShape; names: readonly { slot: number; name: string }[] }) {
  const { replay, shape } = props;
  const { count } = replay.accesses;
  const at = place(count);
  replay.seek(at);
  const choose = (name: keyof CacheShape) => (value: number) => update({ [name]: value === DEFAULTS[name] ? undefined : String(value) }, name);
  const bytes = shape.line * shape.sets * shape.ways;
  return (
    <Panel title="Cache" note={`${bytes >= 1024 ? `${Math.round((bytes / 1024) * 10) / 10} KiB` : `${bytes} bytes`}; the line used longest ago makes room`}>
      <div class="fields">
        <NumberField label="bytes of a line" value={shape.line} min={1} max={LIMITS.line} onChange={choose('line')} />
        <NumberField label="sets" value={shape.sets} min={1} max={LIMITS.sets} onChange={choose('sets')} />
        <NumberField label="ways" value={shape.ways} min={1} max={LIMITS.ways} onChange={choose('ways')} />
      </div>
      <Counts replay={replay} names={props.names} />
      <p class="faint">{replay.cachedLines} of {shape.sets * shape.ways} lines are in use.</p>
      <Plot outcome={replay.run.outcome} at={at} onSeek={(to) => seek(to, count)} />
    </Panel>
  );
}

function Counts({ replay, names }: { replay: Replay; names: readonly { slot: number; name: string }[] }) {
  const kinds = [HIT, COLD, CAPACITY, CONFLICT];
  const rows = names.map(({ slot, name }) => ({ name, counts: kinds.map((kind) => replay.countOf(slot, kind)) }));
  const total = { name: 'all', counts: kinds.map((_, k) => rows.reduce((sum, row) => sum + (row.counts[k] ?? 0), 0)) };
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label="Counts">
      <table class="counts">
        <thead>
          <tr>
            <th scope="col">so far</th>
            <th scope="col">accesses</th>
            {kinds.map((kind) => (
              <th scope="col" key={kind}>{OUTCOMES[kind as 0].replace(' miss', '')}</th>
            ))}
            <th scope="col">misses</th>
          </tr>
        </thead>
        <tbody>
          {[...rows, total].map(({ name, counts }) => {
            const all = counts.reduce((a, b) => a + b, 0);
            return (
              <tr key={name}>
                <th scope="row">{name}</th>
                <td>{all}</td>
                {counts.map((n, k) => (
                  <td key={k}>{n}</td>
                ))}
                <td>{all === 0 ? '–' : `${((100 * (all - (counts[0] ?? 0))) / all).toFixed(1)}%`}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}

export const film: Mode = { id: 'film', title: 'Film', about: 'The order in which a kernel touches memory, access by access, and the hits and misses of a cache.', Page };
