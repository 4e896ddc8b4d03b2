// What a program did: its graphs, schedules, kernels, times and memory, from a trace that STRATA_VIZ had it write.
import { signal } from '@preact/signals';
import { useEffect, useMemo, useState } from 'preact/hooks';
import { kindColour } from '../../draw/colours';
import { offer } from '../../export';
import { param, update, whole } from '../../state';
import { Choice, NumberField, Panel, Spelling } from '../../ui/kit';
import { Rows } from '../../ui/Rows';
import type { Mode } from '../mode';
import { Memory, Roofline, Timeline } from './Charts';
import { Graph, opColour, shortOp } from './Graph';
import { PlanPicture } from './Plan';
import { assemblyOf, loaded, loadFile, loadGiven, problem } from './source';
import { chromeTrace, type KernelTexts, type TensorGraph, totalsOf, type Trace, type TracedKernel, type TraceNode } from './trace';
import { bytesText, counted, rateText, timeText } from './units';

type Side = 'kernels' | 'graph' | 'time' | 'memory';
const SIDES: readonly (readonly [Side, string])[] = [['kernels', 'Kernels'], ['graph', 'Graphs and schedules'], ['time', 'Timeline'], ['memory', 'Memory']];

const MOST_ROOF = 1e9;
const dragged = signal(false);
if (typeof document !== 'undefined') void loadGiven();

function Page() {
  const now = loaded.value;
  return (
    <div
      class={dragged.value ? 'live dragged' : 'live'}
      onDragOver={(e) => {
        e.preventDefault();
        dragged.value = true;
      }}
      onDragLeave={() => (dragged.value = false)}
      onDrop={(e) => {
        e.preventDefault();
        dragged.value = false;
        const file = e.dataTransfer?.files[0];
        if (file !== undefined) void loadFile(file);
      }}
    >
      {problem.value === null ? null : (
        <div class="refusal" role="alert">
          <p>{problem.value}</p>
        </div>
      )}
      {now === null ? <Ask /> : <Shown trace={now.trace} name={now.name} version={now.version} follows={now.follows} />}
    </div>
  );
}

function FileButton() {
  return (
    <span class="field">
      <label for="trace-file">Trace</label>
      <input
        id="trace-file"
        type="file"
        accept=".jsonl,.json,.gz,.txt"
        onChange={(e) => {
          const file = e.currentTarget.files?.[0];
          if (file !== undefined) void loadFile(file);
        }}
      />
    </span>
  );
}

function Ask() {
  return (
    <Panel title="A trace">
      <p>
        <code>STRATA_VIZ=trace.jsonl ./program</code> writes what a program computes; <code>strata viz trace.jsonl</code> shows it here, with <code>--serve</code> while it still runs. Or choose the file, or drop it on this page.
      </p>
      <FileButton />
    </Panel>
  );
}

function Shown(props: { trace: Trace; name: string; version: number; follows: boolean }) {
  const { trace, version } = props;
  const side = SIDES.find(([name]) => name === param('side'))?.[0] ?? 'kernels';
  useEffect(() => offer('trace', { json: () => chromeTrace(trace) }), [trace]);
  const state = trace.ended ? 'the program ended' : props.follows ? 'the program runs' : 'the trace was cut';
  return (
    <>
      <div class="fields live-head">
        <strong>{String(trace.head?.['program'] ?? props.name)}</strong>
        <span class="note">
          {trace.devices.map((d) => `${d.name}, ${counted(d.threads, 'thread')}`).join('; ')} · {timeText(trace.last)} · {counted(trace.kernels.size, 'kernel')} · {counted(trace.runs.length, 'run')} · {state}
        </span>
        <span class="spring" />
        <FileButton />
      </div>
      {trace.faults.length === 0 ? null : (
        <details>
          <summary class="bad">{counted(trace.faults.length, 'line')} could not be read</summary>
          <pre>{trace.faults.join('\n')}</pre>
        </details>
      )}
      <div class="fields" role="group" aria-label="Sides of the trace">
        {SIDES.map(([id, title]) => (
          <button key={id} type="button" aria-pressed={side === id} onClick={() => update({ side: id })}>
            {title}
          </button>
        ))}
      </div>
      <div class="panels">
        {side === 'graph' ? <Graphs trace={trace} version={version} /> : null}
        {side === 'kernels' ? <Kernels trace={trace} version={version} /> : null}
        {side === 'time' ? (
          <Panel wide title="Timeline" note="saved as trace.json, it is a Chrome trace (Perfetto reads it)">
            <Timeline trace={trace} version={version} picked={pickedKernel()} onPick={(kernel) => update({ kernel: String(kernel), side: 'kernels' })} />
          </Panel>
        ) : null}
        {side === 'memory' ? (
          <Panel wide title="Memory over time">
            <Memory trace={trace} version={version} />
            <Plans trace={trace} />
          </Panel>
        ) : null}
      </div>
    </>
  );
}

const pickedKernel = (): number | null => whole('kernel', null, 0, Number.MAX_SAFE_INTEGER);

// --- kernels ---

function Kernels({ trace, version }: { trace: Trace; version: number }) {
  const totals = useMemo(() => totalsOf(trace), [trace, version]);
  const all = totals.reduce((sum, r) => sum + r.ns, 0);
  const picked = pickedKernel() ?? totals[0]?.kernel.kernel ?? null;
  const kernel = picked === null ? undefined : trace.kernels.get(picked);
  const best = totals.filter((r) => r.runs > 0 && r.least > 0);
  const flops = whole('gflops', 0, 1, MOST_ROOF) * 1e9 || Math.max(1, ...best.map((r) => (r.kernel.operations / r.least) * 1e9));
  const bandwidth = whole('gbytes', 0, 1, MOST_ROOF) * 1e9 || Math.max(1, ...best.map((r) => (r.kernel.bytes / r.least) * 1e9));
  return (
    <>
      <Panel title="Kernels" note="the most expensive first">
        <Rows
          label="Kernels"
          head={['', 'name', 'runs', 'time', 'share', 'op/s', 'bytes/s']}
          count={totals.length}
          lit={(i) => totals[i]?.kernel.kernel === picked}
          onPick={(i) => update({ kernel: String(totals[i]?.kernel.kernel ?? '') })}
          row={(i) => {
            const r = totals[i];
            if (r === undefined) return [];
            const rate = (amount: number, what: string): string => (r.least === Infinity || r.least === 0 ? '' : rateText((amount / r.least) * 1e9, what));
            return [
              <span class="swatch" style={{ background: kindColour(r.kernel.kernel) }} />,
              <button type="button" class="plain" onClick={() => update({ kernel: String(r.kernel.kernel) })}>
                {r.kernel.name}
              </button>,
              r.runs,
              timeText(r.ns),
              all === 0 ? '' : `${Math.round((100 * r.ns) / all)} %`,
              rate(r.kernel.operations, 'op'),
              rate(r.kernel.bytes, 'B'),
            ];
          }}
        />
      </Panel>
      <Panel title="Roofline" note="each kernel's best run">
        <Roofline totals={totals} flops={flops} bandwidth={bandwidth} picked={picked} onPick={(k) => update({ kernel: String(k) }, 'roofline')} />
        <div class="fields">
          <NumberField label="Gop/s" min={1} max={MOST_ROOF} value={Math.max(1, Math.round(flops / 1e9))} onChange={(v) => update({ gflops: String(v) }, 'roof')} />
          <NumberField label="GB/s" min={1} max={MOST_ROOF} value={Math.max(1, Math.round(bandwidth / 1e9))} onChange={(v) => update({ gbytes: String(v) }, 'roof')} />
          <span class="note">{param('gflops') === '' ? 'the best of this trace; strata bench measures the machine' : ''}</span>
        </div>
      </Panel>
      {kernel === undefined ? null : <KernelPage key={kernel.kernel} kernel={kernel} />}
    </>
  );
}

const TEXTS = [['source', 'source'], ['uops', 'UOps'], ['axes', 'loops and opts'], ['assembly', 'assembly']] as const;

function KernelPage({ kernel }: { kernel: TracedKernel }) {
  const shown = TEXTS.find(([name]) => name === param('show'))?.[0] ?? 'source';
  const parts = [kernel, ...(kernel.first ?? [])];
  const part = whole('part', 0, 0, parts.length - 1);
  const texts: KernelTexts = parts[part] ?? kernel;
  const code = useAssembly(shown === 'assembly', kernel, part);
  const text = shown === 'assembly' ? code : shown === 'uops' ? texts.uops : shown === 'axes' ? `${texts.axes}opts: ${texts.opts.join(', ') || 'none'}\n` : (texts.source ?? 'nobody said for which device it is');
  return (
    <>
      <Panel title={kernel.name} note={`kernel ${kernel.kernel}, ${timeText(kernel.ns)} to compile`}>
        {parts.length === 1 ? null : (
          <Choice label="Part" value={String(part)} options={parts.map((p, i) => [String(i), `${p.name}, ${i === 0 ? 'last' : 'before it'}`] as const)} onChange={(v) => update({ part: v === '0' ? undefined : v, 'ast-node': undefined })} />
        )}
        <Spelling name="opts" text={texts.opts.join(', ') || 'none'} />
        <Spelling name="proof" text={texts.proof.text} />
        <Spelling name="buffers" text={kernel.buffers.map((b, i) => `data${i}: ${b.dtype}[${b.size}]${b.written ? (b.read ? ' read, written' : ' written') : ' read'}`).join('\n')} />
        <Spelling name="passes" text={Object.entries(texts.passes).map(([name, ns]) => `${name} ${timeText(ns)}`).join(', ')} />
        <Choice label="Text" value={shown} options={TEXTS} onChange={(v) => update({ show: v })} />
        <pre class="scroll" tabIndex={0} aria-label={`${shown} of ${texts.name}`}>
          {text}
        </pre>
      </Panel>
      <NodesPanel id="ast" title="Its graph" nodes={texts.ast} files={texts.files} />
      {kernel.rewrites === undefined || kernel.rewrites.length === 0 ? null : (
        <Panel wide title="Rewrites" note="rules of the algebra that fired, each with its first instance">
          <Rows
            label="Rewrites"
            head={['rule', 'title', 'times', 'before', 'after']}
            count={kernel.rewrites.length}
            row={(i) => {
              const r = kernel.rewrites?.[i];
              return r === undefined ? [] : [r.rule, r.title, r.times, <code>{r.before}</code>, <code>{r.after}</code>];
            }}
          />
        </Panel>
      )}
    </>
  );
}

/** Machine code of a kernel's part, which the page's own server makes when it is asked for; or how to make it by hand. */
function useAssembly(wanted: boolean, kernel: TracedKernel, part: number): string {
  const served = loaded.value?.follows === true;
  const [code, setCode] = useState('the server is asked');
  useEffect(() => {
    if (!wanted || !served) return;
    let gone = false;
    setCode('the server is asked');
    assemblyOf(kernel.kernel, part).then((text) => gone || setCode(text));
    return () => void (gone = true);
  }, [wanted, served, kernel.kernel, part]);
  if (served) return code;
  const name = ([kernel, ...(kernel.first ?? [])][part] ?? kernel).name;
  if (kernel.device === 'LLVM') return `${BY_HAND}\n  llc-19 -O3 -mcpu=native -o - ${name}.ll`;
  if (kernel.device === 'CLANG') return `${BY_HAND}\n  clang-19 -O3 -march=native -S -o - ${name}.c`;
  return `${kernel.device ?? 'a device that nobody named'} has no machine code`;
}

const BY_HAND = 'strata viz --serve TRACE makes it here. By hand, of the source in a file:';

/** A graph, and what its picked node is. */
function NodesPanel(props: { id: string; title: string; note?: string; nodes: readonly TraceNode[]; files: readonly string[]; colour?: (n: number) => string; tell?: (n: number) => string | null }) {
  const key = `${props.id}-node`;
  const picked = whole(key, null, 0, props.nodes.length - 1);
  const node = picked === null ? undefined : props.nodes[picked];
  return (
    <Panel title={props.title} {...(props.note === undefined ? {} : { note: props.note })}>
      <Graph id={props.id} label={props.title} nodes={props.nodes} colour={props.colour ?? ((n) => opColour(props.nodes[n]?.op ?? ''))} picked={picked} onPick={(n) => update({ [key]: n === null ? undefined : String(n) }, key)} />
      {node === undefined || picked === null ? <p class="whereabouts">Pick a node. A load opens its View.</p> : <NodeFacts node={node} number={picked} files={props.files} more={props.tell?.(picked) ?? null} />}
    </Panel>
  );
}

function NodeFacts(props: { node: TraceNode; number: number; files: readonly string[]; more: string | null }) {
  const { node } = props;
  const origin = node.origin === undefined ? null : `${node.origin[0]}, ${props.files[node.origin[1]] ?? 'unknown'}:${node.origin[2]}`;
  const said = [node.arg, node.value, node.slot === undefined ? undefined : `data${node.slot}`].filter((v) => v !== undefined && v !== '').join(' ');
  return (
    <>
      <p class="whereabouts">
        {props.number}: {shortOp(node.op)} {node.dtype} [{(node.shape ?? []).join(', ')}] {said}
        {props.more === null ? '' : ` · ${props.more}`}
      </p>
      {origin === null ? null : <p class="whereabouts">written at {origin}</p>}
      {node.view === undefined ? null : (
        <button type="button" onClick={() => update({ mode: 'movement', q: node.view, step: undefined })}>
          Open its View
        </button>
      )}
    </>
  );
}

// --- graphs and schedules ---

function Graphs({ trace, version }: { trace: Trace; version: number }) {
  const graphs = [...trace.graphs.values()];
  const largest = graphs.reduce<TensorGraph | undefined>((best, g) => (best !== undefined && best.count >= g.count ? best : g), undefined);
  const graph = trace.graphs.get(whole('graph', -1, 0, Number.MAX_SAFE_INTEGER)) ?? largest;
  const owners = useMemo(() => (graph === undefined ? new Map<number, number>() : ownersOf(graph)), [graph, version]);
  if (graph === undefined) return <p class="faint">No graph was realized yet.</p>;
  const byKernel = param('colour', 'op') === 'kernel';
  const item = whole('item', null, 0, graph.schedule.length - 1);
  return (
    <>
      <NodesPanel
        id="tensors"
        title={`Graph ${graph.graph}`}
        note={`${graph.nodes.length} of ${graph.count} nodes`}
        nodes={graph.nodes}
        files={graph.files}
        colour={(n) => (byKernel || item !== null ? (item === null || owners.get(n) === item ? kindColour(owners.get(n) ?? 7) : '#9aa5b1') : opColour(graph.nodes[n]?.op ?? ''))}
        tell={(n) => (owners.has(n) ? `computed by item ${owners.get(n)}` : null)}
      />
      <Panel title="Schedule" note={`${counted(graph.schedule.length, 'item')}: what is one kernel, and why`}>
        <div class="fields">
          <Choice label="Graph" value={String(graph.graph)} options={graphs.map((g) => [String(g.graph), `graph ${g.graph}: ${g.count} nodes`] as const)} onChange={(v) => update({ graph: v, item: undefined, 'tensors-node': undefined })} />
          <Choice label="Colour" value={byKernel ? 'kernel' : 'op'} options={[['op', 'by operation'], ['kernel', 'by kernel']]} onChange={(v) => update({ colour: v })} />
        </div>
        <Rows
          label="Schedule"
          head={['', 'item', 'nodes', 'why', 'text']}
          count={graph.schedule.length}
          lit={(i) => i === item}
          row={(i) => {
            const it = graph.schedule[i];
            if (it === undefined) return [];
            return [
              <span class="swatch" style={{ background: kindColour(i) }} />,
              <button type="button" class="plain" aria-pressed={i === item} onClick={() => update({ item: i === item ? undefined : String(i) })}>
                {i}: {it.kind}
              </button>,
              it.computes.length,
              it.why,
              it.text,
            ];
          }}
        />
        {graph.plan === null || graph.plan.blocks.length === 0 ? null : <PlanPicture graph={graph} plan={graph.plan} />}
      </Panel>
    </>
  );
}

/** Which item of the schedule computes a node: the first that does. */
function ownersOf(graph: TensorGraph): Map<number, number> {
  const out = new Map<number, number>();
  graph.schedule.forEach((item, i) => item.computes.forEach((n) => (out.has(n) ? undefined : out.set(n, i))));
  return out;
}

function Plans({ trace }: { trace: Trace }) {
  const rows = [...trace.graphs.values()].filter((g) => (g.plan?.unshared ?? 0) > 0);
  if (rows.length === 0) return null;
  return (
    <>
      <h3>Plans: memory between kernels, shared</h3>
      <Rows
        label="Memory plans"
        head={['graph', 'blocks', 'peak', 'without the plan']}
        count={rows.length}
        row={(i) => {
          const g = rows[i];
          return g?.plan === null || g?.plan === undefined ? [] : [g.graph, g.plan.blocks.map(bytesText).join(', '), bytesText(g.plan.peak), bytesText(g.plan.unshared)];
        }}
      />
    </>
  );
}

export const live: Mode = { id: 'live', title: 'Live', about: 'What a program did: graphs, schedules with their reasons, kernels, rewrites, times and memory, from a trace.', Page };
