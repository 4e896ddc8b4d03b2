// What the accesses of the threads cost: warp requests with banks and sectors, and cache lines of a processor.
import { useMemo } from 'preact/hooks';
import { kindColour } from '../../draw/colours';
import { GridView } from '../../draw/GridView';
import { hover, point } from '../../hover';
import { update, whole } from '../../state';
import { NumberField, Panel } from '../../ui/kit';
import { Rows } from '../../ui/Rows';
import { type Accesses, linesOf, type Machine, type Phase, phasesOf, phaseThreads, requestsOf, totalsOf, vectorFails, vectorsOf, type WarpRequest } from './access';
import { limits, set, setting, type Setting } from './model';
import { runs } from './pointed';
import { byColour } from './shades';

function Numbers(props: { names: readonly (readonly [Setting, string])[] }) {
  return (
    <>
      {props.names.map(([name, label]) => (
        <NumberField key={name} label={label} value={setting(name)} min={limits(name)[0]} max={limits(name)[1]} onChange={(n) => set(name, n)} />
      ))}
    </>
  );
}

export interface AccessProps {
  readonly machine: Machine;
  readonly accesses: Accesses;
  /** The same behind a swizzle. */
  readonly moved: Accesses | null;
}
const MOST_BYTES = 16;

export function WarpPanel({ machine: m, accesses, moved }: AccessProps) {
  const before = useMemo(() => requestsOf(accesses, m), [accesses, JSON.stringify(m)]);
  const after = useMemo(() => (moved === null ? null : requestsOf(moved, m)), [moved, JSON.stringify(m)]);
  const list = after ?? before, used = moved ?? accesses;
  const chosen = chosenOf(list);
  return (
      <Panel title="Warps: banks and sectors" note={`${accesses.threads} threads, ${accesses.values} values each`}>
        <div class="fields">
          <Numbers names={[['bytes', 'Bytes of an element'], ['vector', 'Elements at once'], ['warp', 'Warp'], ['banks', 'Banks'], ['bank', 'Bytes of a bank'], ['sector', 'Bytes of a sector'], ['base', 'First byte']]} />
        </div>
        <VectorNote a={used} m={m} />
        <Summary before={before} after={after} m={m} />
        <Rows
          label="Requests"
          head={['request', 'threads', 'values', 'ways', 'passes', 'sectors', 'bytes used']}
          count={list.length}
          most={8}
          row={(i) => requestCells(list[i] as WarpRequest, i, i === chosen, accesses, m)}
          lit={(i) => i === chosen}
          onHover={(i) => (i === null ? point('requests', null) : point('requests', { threads: threadsOf(list[i] as WarpRequest, accesses, m), values: valuesOf(list[i] as WarpRequest, accesses, m) }))}
          onPick={(i) => update({ request: String(i) })}
        />
      </Panel>
  );
}

/** The request whose banks are shown: the worst one until one is chosen. */
const chosenOf = (list: readonly WarpRequest[]): number => whole('request', worst(list), 0, list.length - 1);

const worst = (list: readonly WarpRequest[]): number => list.reduce((best, r, i) => (r.ways > (list[best]?.ways ?? 0) ? i : best), 0);
const threadsOf = (r: WarpRequest, a: Accesses, m: Machine): number[] => {
  const first = r.warp * m.warp;
  return Array.from({ length: Math.min(a.threads - first, m.warp) }, (_, k) => first + k);
};
const valuesOf = (r: WarpRequest, a: Accesses, m: Machine): [number, number] => [r.value, Math.min(a.values, r.value + m.vector) - 1];
const percent = (part: number): string => `${Math.round(part * 100)} %`;

function requestCells(r: WarpRequest, i: number, chosen: boolean, a: Accesses, m: Machine) {
  const [, last] = valuesOf(r, a, m), threads = threadsOf(r, a, m);
  return [
    <button type="button" class="copy" aria-pressed={chosen} onClick={() => update({ request: String(i) })}>
      {i}
    </button>,
    `${threads[0]}–${threads.at(-1)}`,
    last === r.value ? `${r.value}` : `${r.value}–${last}`,
    r.ways === 1 ? '1' : <strong>{r.ways}</strong>,
    `${r.passes} / ${r.phases}`,
    `${r.sectors} / ${r.leastSectors}`,
    percent(r.bytes / (r.sectors * m.sectorBytes)),
  ];
}

function VectorNote({ a, m }: { a: Accesses; m: Machine }) {
  const found = useMemo(() => vectorsOf(a, m, MOST_BYTES), [a, m.bytes, m.base]);
  const refused = useMemo(() => (m.vector === 1 ? null : vectorFails(a, m, m.vector)), [a, JSON.stringify(m)]);
  const why = (fails: NonNullable<typeof refused>): string =>
    fails.because === 'gap' ? `value ${fails.value} of thread ${fails.thread} does not follow the one before it` : `value ${fails.value} of thread ${fails.thread} is not aligned to all of them`;
  return (
    <>
      <p class="vectors">
        Vectors: <strong>{found.width === 1 ? 'none' : `${found.width} elements, ${found.width * m.bytes} bytes`}</strong>
        <span class="note">{found.fails === null ? '' : ` — not ${found.width * 2}: ${why(found.fails)}`}</span>
      </p>
      {refused === null ? null : (
        <p class="bad" role="alert">
          {m.vector} elements at once are no vector: {why(refused)}. They are counted as one request all the same.
        </p>
      )}
    </>
  );
}

function Summary({ before, after, m }: { before: readonly WarpRequest[]; after: readonly WarpRequest[] | null; m: Machine }) {
  const rows = [[after === null ? 'all requests' : 'before the swizzle', totalsOf(before, m)] as const, ...(after === null ? [] : [['after it', totalsOf(after, m)] as const])];
  return (
    <table class="totals">
      <thead>
        <tr>
          {['', 'requests', 'bank conflicts', 'passes / least', 'sectors / least', 'lines', 'bytes used'].map((h) => (
            <th key={h} scope="col">
              {h}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map(([name, t]) => (
          <tr key={name}>
            <th scope="row">{name}</th>
            <td>{t.requests}</td>
            <td>
              <strong class={t.ways > 1 ? 'bad' : 'good'}>{t.ways > 1 ? `${t.ways}-way` : 'none'}</strong>
            </td>
            <td>{`${t.passes} / ${t.phases}`}</td>
            <td>{`${t.sectors} / ${t.leastSectors}`}</td>
            <td>{t.lines}</td>
            <td>{percent(t.used)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

interface Slot {
  readonly bank: number;
  readonly word: number;
  readonly threads: readonly number[];
}

/** One request: a column a bank, the words it has to give below each other, with the threads that want them. */
export function BankPanel({ machine: m, accesses, moved }: AccessProps) {
  const a = moved ?? accesses;
  const list = useMemo(() => requestsOf(a, m), [a, JSON.stringify(m)]);
  const number = chosenOf(list), request = list[number];
  return request === undefined ? null : <Banks request={request} number={number} a={a} m={m} />;
}

function Banks({ request, number, a, m }: { request: WarpRequest; number: number; a: Accesses; m: Machine }) {
  const phases = useMemo(() => phasesOf(a, m, request.warp, request.value), [a, JSON.stringify(m), request.warp, request.value]);
  const { slots, rows, at } = useMemo(() => slotsOf(phases, m), [phases]);
  const addressOf = (slot: Slot): number => Math.floor((slot.word * m.bankBytes - m.base) / m.bytes);
  const many = phases.length > 1 ? `, in ${phases.length} phases of ${phaseThreads(m)} threads` : '';
  const here = hover.value;
  return (
    <Panel wide title={`Banks of request ${number}`} note={`${request.ways}-way, ${request.passes} ${request.passes === 1 ? 'pass' : 'passes'}${many}`}>
      <GridView
        id="banks"
        label={`Banks of request ${number}: a column a bank, a row a pass`}
        field={{
          shape: phases.length > 1 ? [phases.length, rows, m.banks] : [rows, m.banks],
          span: (phase, row, begin, out) => {
            for (let k = 0; k < out.length; ++k) out[k] = at(phase, row, begin + k);
          },
        }}
        names={['phase']}
        shade={byColour((i) => kindColour(slots[i]?.threads[0] ?? 0))}
        text={(i) => threadsText(slots[i]?.threads ?? [])}
        most={360}
        focus={{ address: null, coordinate: here?.from === 'banks' ? (here.coordinate ?? null) : null }}
        outline={(_, i) => {
          const thread = here?.from === 'banks' ? undefined : here?.thread;
          return i !== null && thread !== undefined && slots[i]?.threads.includes(thread) === true ? '#b00068' : null;
        }}
        tell={(spot) => {
          const slot = slots[spot.address ?? -1];
          return slot === undefined ? {} : { address: addressOf(slot), threads: collide(slots, slot, at, spot.coordinate, rows), values: valuesOf(request, a, m) };
        }}
      />
      <p class="note">A column is a bank, a row a pass: threads below each other wait for one another. Threads that want the same word get it together.</p>
    </Panel>
  );
}

/** All threads that a bank has to serve in a phase: those that collide. */
function collide(slots: readonly Slot[], slot: Slot, at: (phase: number, row: number, bank: number) => number, place: readonly number[], rows: number): number[] {
  const phase = place.length > 2 ? (place[0] ?? 0) : 0;
  const ids = Array.from({ length: rows }, (_, row) => at(phase, row, slot.bank)).filter((id) => !Number.isNaN(id));
  return [...new Set(ids.flatMap((id) => slots[id]?.threads ?? []))];
}

const threadsText = (threads: readonly number[]): string => (threads.length > 2 ? `${threads[0]}+${threads.length - 1}` : threads.join(' '));

function slotsOf(phases: readonly Phase[], m: Machine) {
  const slots: Slot[] = [], ids = new Map<string, number>();
  const rows = Math.max(1, ...phases.map((p) => p.ways));
  phases.forEach((phase, p) => {
    for (const [bank, words] of phase.banks)
      [...words].forEach(([word, threads], row) => {
        ids.set(`${p},${row},${bank}`, slots.length);
        slots.push({ bank, word, threads });
      });
  });
  const at = (phase: number, row: number, bank: number): number => (bank < m.banks ? (ids.get(`${phase},${row},${bank}`) ?? NaN) : NaN);
  return { slots, rows, at };
}

const shortened = (text: string): string => (text.length > 26 ? `${text.slice(0, 24)} …` : text);

export function LinesPanel({ machine: m, accesses, moved }: AccessProps) {
  const a = moved ?? accesses;
  const lines = useMemo(() => linesOf(a, m), [a, JSON.stringify(m)]);
  const falsely = lines.shared.filter((s) => s.falsely).length;
  return (
    <Panel title="Processor: cache lines" note={`${lines.touched} lines touched, ${lines.least} would do; at most ${lines.mostOfThread} by one thread`}>
      <div class="fields">
        <Numbers names={[['cache', 'Bytes of a line'], ['bytes', 'Bytes of an element'], ['base', 'First byte']]} />
      </div>
      <p class="vectors">
        False sharing:{' '}
        <strong class={falsely > 0 ? 'bad' : 'good'}>
          {falsely > 0 ? `${falsely} ${falsely === 1 ? 'line' : 'lines'}` : 'none'}
        </strong>
        <span class="note">
          {' '}
          {lines.shared.length === 0 ? 'Each line belongs to one thread.' : `${lines.shared.length} of ${lines.touched} lines are touched by several threads.`}
        </span>
      </p>
      {lines.shared.length === 0 ? null : (
        <Rows
          label="Shared lines"
          head={['line', 'threads', 'which', 'sharing']}
          count={lines.shared.length}
          most={8}
          row={(i) => {
            const s = lines.shared[i];
            return s === undefined ? [] : [s.line, s.threads.length, shortened(runs(s.threads)), s.falsely ? 'false: different elements' : 'the same elements'];
          }}
          lit={(i) => hover.value?.cacheLine === lines.shared[i]?.line}
          onHover={(i) => point('lines', i === null ? null : { cacheLine: lines.shared[i]?.line ?? -1 })}
        />
      )}
    </Panel>
  );
}
