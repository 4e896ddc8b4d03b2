// The film: controls, the loops, a grid a buffer. Cells are the brighter the newer their last access.
import { amountColour, KINDS, parseColour, type Shade, theme } from '../../draw/colours';
import { coordinateOf, type Field, rowsOf, colsOf } from '../../draw/field';
import { GridView } from '../../draw/GridView';
import { hover } from '../../hover';
import { update } from '../../state';
import { Choice, Panel } from '../../ui/kit';
import type { KernelAnswer, KernelParts } from '../kernel/answer';
import type { Shown } from './buffers';
import { HIT, OUTCOMES } from './cache';
import { Nest } from './Nest';
import { pause, place, play, plays, seek, speed, SPEEDS, useFilm } from './player';
import { partOf, type Replay } from './replay';
import type { Iterations } from './iterations';

interface FilmProps {
  readonly kernel: KernelAnswer;
  readonly buffers: readonly Shown[];
  readonly replay: Replay;
  /** Of each kernel that runs. */
  readonly iterations: readonly (Iterations | null)[];
  /** How many accesses of scratch memory are left out. */
  readonly scratch: number;
}
const HIT_MARK = KINDS[4], MISS_MARK = KINDS[5];

export function Film(props: FilmProps) {
  const { kernel, replay, buffers } = props;
  const { count } = replay.accesses;
  useFilm(count);
  const at = place(count);
  replay.seek(at);
  const now = at - 1; // the access that was made last
  const { part, first } = partOf(replay.accesses.parts, Math.max(0, now));
  const running = kernel.first[part] ?? kernel;
  return (
    <Panel wide title="Film" note={noteOf(props)}>
      <div onKeyDown={(e) => onKey(e, at, count)}>
        <Controls at={at} count={count} />
      </div>
      <Now {...props} running={running} now={now} />
      <Nest kernel={running} around={around(running, now < 0 ? null : (replay.accesses.op[now] ?? null))} iteration={(loop) => (now < 0 ? null : (props.iterations[part]?.iteration(loop, now - first) ?? null))} />
      <div class="buffers">
        {buffers.map((b) => (
          <Buffer key={b.slot} buffer={b} replay={replay} now={now} />
        ))}
      </div>
      <Key />
    </Panel>
  );
}

function noteOf({ kernel, replay, scratch }: FilmProps): string {
  const several = kernel.first.length === 0 ? kernel.name : [...kernel.first, kernel].map((k) => k.name).join(', then ');
  return `${replay.accesses.count} accesses of buffers in ${several}${scratch === 0 ? '' : `; ${scratch} of scratch memory are left out`}`;
}

function onKey(e: KeyboardEvent, at: number, count: number): void {
  const target = e.target as HTMLElement;
  const steps: Record<string, number> = { ArrowLeft: at - 1, ArrowRight: at + 1, PageUp: at - Math.ceil(count / 20), PageDown: at + Math.ceil(count / 20), Home: 0, End: count };
  const to = steps[e.key];
  if (target.matches('select')) return;
  if (e.key === ' ' && !target.matches('button')) plays() ? pause(count) : play(count);
  else if (to !== undefined) {
    pause(count);
    seek(to, count);
  } else return;
  e.preventDefault();
}

function Controls({ at, count }: { at: number; count: number }) {
  const go = (to: number) => () => {
    pause(count);
    seek(to, count);
  };
  return (
    <div class="controls" role="group" aria-label="Film">
      <button type="button" aria-label="To the begin" title="Home" onClick={go(0)}>
        |◂
      </button>
      <button type="button" aria-label="One access back" title="←" onClick={go(at - 1)}>
        ◂
      </button>
      <button type="button" onClick={() => (plays() ? pause(count) : play(count))} title="Blank" style={{ minWidth: '8ch' }}>
        {plays() ? 'Pause' : 'Play'}
      </button>
      <button type="button" aria-label="One access on" title="→" onClick={go(at + 1)}>
        ▸
      </button>
      <button type="button" aria-label="To the end" title="End" onClick={go(count)}>
        ▸|
      </button>
      <input type="range" aria-label="Accesses made" min={0} max={count} value={at} onInput={(e) => go(Number(e.currentTarget.value))()} />
      <span class="position">
        {at} of {count}
      </span>
      <Choice label="a second" value={String(speed())} options={SPEEDS.map((s) => [String(s), String(s)] as const)} onChange={(s) => update({ speed: s === '64' ? undefined : s })} />
    </div>
  );
}

/** The access that was made last, in words. */
function Now({ running, replay, buffers, now }: FilmProps & { running: KernelParts; now: number }) {
  if (now < 0) return <p class="now faint">No access was made yet.</p>;
  const { op, slot, element } = replay.accesses;
  const buffer = buffers.find((b) => b.slot === slot[now]);
  const e = element[now] ?? 0, row = op[now] ?? 0;
  const outcome = OUTCOMES[(replay.run.outcome[now] ?? 0) as 0];
  return (
    <p class="now" aria-live={plays() ? 'off' : 'polite'}>
      {running.ops[row]?.op === 'STORE' ? 'store' : 'load'} <b>{buffer?.name ?? `data${slot[now]}`}[{buffer === undefined ? e : indexOf(buffer, e).join(', ')}]</b> · address {e} · line{' '}
      {replay.memory.lineOf(slot[now] ?? 0, e)} · <b>{outcome}</b> · UOp {row}
    </p>
  );
}

const indexOf = (b: Shown, element: number): number[] => {
  const cols = colsOf(b.shape), rows = rowsOf(b.shape);
  return coordinateOf(b.shape, Math.floor(element / (rows * cols)), Math.floor(element / cols) % rows, element % cols);
};

/** The loops around a UOp. */
function around(kernel: KernelParts, op: number | null): ReadonlySet<number> {
  const out = new Set<number>();
  for (let row = op === null ? null : (kernel.ops[op]?.loop ?? null); row !== null; row = kernel.ops[row]?.loop ?? null) out.add(row);
  return out;
}

function Buffer({ buffer, replay, now }: { buffer: Shown; replay: Replay; now: number }) {
  const { slot } = buffer;
  const current = now >= 0 && replay.accesses.slot[now] === slot ? (replay.accesses.element[now] ?? -1) : -1;
  const mark = now >= 0 && replay.run.outcome[now] === HIT ? HIT_MARK : MISS_MARK;
  const at = hover.value;
  const outline = (_: readonly number[], e: number | null): string | null =>
    e === null ? null : e === current ? mark : replay.isCached(slot, e) ? theme().ink : null;
  return (
    <div>
      <h3>
        {buffer.name} <span class="faint">{buffer.dtype}, ({buffer.shape.join(', ')})</span>
      </h3>
      <GridView
        id={`film-${buffer.name}`}
        label={`Buffer ${buffer.name}`}
        field={elements(buffer.shape)}
        shade={ageShade(replay, slot)}
        outline={outline}
        most={340}
        focus={{ coordinate: at?.buffer === slot ? (at.coordinate ?? null) : isSmall(buffer) || current < 0 ? null : indexOf(buffer, current), address: null }}
        tell={() => ({ buffer: slot })}
      />
      <p class="whereabouts">{wordsOf(buffer, replay)}</p>
    </div>
  );
}

function wordsOf(b: Shown, replay: Replay): string {
  const at = hover.value;
  if (at?.buffer !== b.slot || at.address === null || at.address === undefined) return 'Point at an element.';
  const age = replay.age(b.slot, at.address);
  return `${b.name}[${(at.coordinate ?? []).join(', ')}]: ${age < 0 ? 'not touched yet' : age === 0 ? 'touched just now' : `touched ${age} accesses ago`}, line ${replay.memory.lineOf(b.slot, at.address)} ${replay.isCached(b.slot, at.address) ? 'is in the cache' : 'is not in the cache'}`;
}

/** Whether its cells are large enough for outlines; in a picture of pixels the access of now is marked as what is pointed at is. */
const isSmall = (b: Shown): boolean => b.size <= 1024;

/** A buffer's elements in their order. */
function elements(shape: readonly number[]): Field {
  const rows = rowsOf(shape), cols = colsOf(shape);
  return {
    shape,
    span(panel, row, begin, out) {
      const first = (panel * rows + row) * cols + begin;
      for (let i = 0; i < out.length; ++i) out[i] = first + i;
    },
  };
}

const STEPS = 24;
const AGES = Array.from({ length: STEPS + 1 }, (_, i) => amountColour(1 - i / STEPS));
const packed = (colour: string): number => {
  const [r, g, b] = parseColour(colour);
  return ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0;
};
const PACKED_AGES = AGES.map(packed);

/** The newest access is the brightest; a doubling of age is a step. */
function ageShade(replay: Replay, slot: number): Shade {
  const never = theme().masked, packedNever = packed(never);
  const step = (age: number): number => Math.min(STEPS, Math.round(2 * Math.log2(1 + age)));
  return {
    colour: (e) => {
      const age = replay.age(slot, e);
      return age < 0 ? never : (AGES[step(age)] ?? never);
    },
    pixel: (e) => {
      const age = replay.age(slot, e);
      return age < 0 ? packedNever : (PACKED_AGES[step(age)] ?? packedNever);
    },
  };
}

function Key() {
  return (
    <p class="key">
      <span><i style={{ background: amountColour(1) }} /> touched just now</span>
      <span><i style={{ background: amountColour(0) }} /> long ago</span>
      <span><i style={{ background: 'var(--raised)' }} /> never</span>
      <span><i style={{ border: '2px solid var(--ink)' }} /> in the cache</span>
      <span><i style={{ border: `2px solid ${HIT_MARK}` }} /> the access of now: a hit</span>
      <span><i style={{ border: `2px solid ${MISS_MARK}` }} /> a miss</span>
    </p>
  );
}
