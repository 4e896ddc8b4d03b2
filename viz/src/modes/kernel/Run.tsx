// The kernel as WGSL on this browser's WebGPU, beside what the interpreter gives on the same random inputs.
import { useState } from 'preact/hooks';
import { ask, type Numbers, type Request } from '../../ask';
import { numbersOf } from '../../draw/field';
import { Panel, Refusal } from '../../ui/kit';
import { type KernelAnswer, kernelRequest, valuesFor, variablesOf } from './answer';
import { differenceOf, runWgsl, whyNot } from './webgpu';

interface Evaluated {
  readonly buffers: readonly { readonly name: string; readonly dtype: string; readonly input?: unknown; readonly output?: unknown }[];
}
interface Row {
  readonly name: string;
  readonly count: number;
  readonly most: number;
  readonly at: number;
  readonly theirs: number | undefined;
  readonly ours: number | undefined;
}
interface Result {
  readonly said: string;
  readonly rows: readonly Row[];
  readonly bad: boolean;
}

const SEED = 1;

export function Run(props: { text: Request }) {
  const [result, setResult] = useState<Result | null>(null);
  const [busy, setBusy] = useState(false);
  const there = 'gpu' in navigator;
  const run = async (): Promise<void> => {
    setBusy(true);
    setResult(await compared(props.text).catch((e: unknown) => ({ said: e instanceof Error ? e.message : String(e), rows: [], bad: true })));
    setBusy(false);
  };
  return (
    <Panel
      wide
      title="Run"
      note="as WGSL, compared with the interpreter on random inputs"
      actions={
        <button type="button" disabled={!there || busy} onClick={() => void run()}>
          {busy ? 'running …' : 'Run on WebGPU'}
        </button>
      }
    >
      {there ? null : <p>This browser has no WebGPU: the source can be read, but not run here.</p>}
      {result === null ? null : result.bad && result.rows.length === 0 ? <Refusal error={{ kind: 'run', message: result.said }} /> : <p role="status">{result.said}</p>}
      {result === null || result.rows.length === 0 ? null : <Table rows={result.rows} />}
      {there && result === null ? <p class="faint">Nothing was run yet.</p> : null}
    </Panel>
  );
}

function Table({ rows }: { rows: readonly Row[] }) {
  return (
    <table class="runs">
      <thead>
        <tr>
          <th scope="col">output</th>
          <th scope="col">elements</th>
          <th scope="col">greatest difference</th>
          <th scope="col">where</th>
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr key={row.name}>
            <th scope="row">{row.name}</th>
            <td>{row.count}</td>
            <td data-difference={row.most}>{row.most === 0 ? 'none' : row.most.toPrecision(3)}</td>
            <td>{row.at < 0 ? '–' : `${row.at}: ${row.theirs} here, ${row.ours} interpreted`}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** @throws Error with what cannot be done */
async function compared(text: Request): Promise<Result> {
  const kernel = (await answered({ ...kernelRequest(text, 'wgsl'), vector_bytes: undefined, show: 'uops,source' })).answer as unknown as KernelAnswer;
  const values = valuesFor(variablesOf(kernel));
  const reason = whyNot(kernel, kernel.first.length > 0);
  if (reason !== null) return { said: reason, rows: [], bad: true };
  const evaluated = await answered({ do: 'evaluate', text: text['text'], seed: SEED, values });
  const { buffers } = evaluated.answer as unknown as Evaluated;
  const inputs = new Map<string, ArrayLike<number>>(Object.entries(values).map(([name, value]) => [name, [value]]));
  buffers.forEach((b, slot) => inputs.set(`data${slot}`, list(b.input, evaluated.arrays) ?? new Float64Array(list(b.output, evaluated.arrays)?.length ?? 0)));
  const ran = await runWgsl(kernel, inputs);
  const rows = buffers.flatMap((b, slot): Row[] => {
    const theirs = ran.outputs.get(`data${slot}`), ours = list(b.output, evaluated.arrays);
    if (theirs === undefined || ours === null) return [];
    const { most, at } = differenceOf(theirs, ours);
    return [{ name: b.name, count: ours.length, most, at, theirs: theirs[at], ours: ours[at] }];
  });
  return { said: `Ran on ${ran.adapter === '' ? 'WebGPU' : ran.adapter} in ${ran.milliseconds.toFixed(1)} ms, copies of the outputs among them.`, rows, bad: false };
}

/** Values as they are: no number of them means a masked element. */
function list(value: unknown, arrays: readonly Numbers[]): Float64Array | null {
  if (Array.isArray(value)) return Float64Array.from(value as (number | null)[], (v) => v ?? NaN);
  return value === null || value === undefined ? null : numbersOf(value, arrays);
}

async function answered(request: Request): ReturnType<typeof ask> {
  const reply = await ask(request);
  if (reply.answer.error !== undefined) throw new Error(reply.answer.error.message);
  return reply;
}
