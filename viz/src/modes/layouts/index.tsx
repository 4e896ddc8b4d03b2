// Layouts: the algebra in CuTe's notation, threads and values, tiles, swizzles, banks, sectors and cache lines.
import { useMemo } from 'preact/hooks';
import type { LayoutAnswer } from '../../answers';
import { useAnswer } from '../../ask';
import { numbersOf } from '../../draw/field';
import { boxText, read } from '../../reading';
import { whole } from '../../state';
import { Elsewhere } from '../../ui/Elsewhere';
import { Panel } from '../../ui/kit';
import type { Mode } from '../mode';
import type { Accesses } from './access';
import { BankPanel, LinesPanel, WarpPanel } from './AccessPanel';
import { splitCall } from './call';
import { workOf } from './drawn';
import { operation } from './functions';
import { machine, type Model, useModel } from './model';
import { OperationPanel, Presets } from './Operation';
import { Controls, lookOf, MemoryPanel, OperandGrid, ResultGrid, Where } from './Pictures';
import { SwizzleFields, SwizzlePair } from './Swizzling';
import { swizzled } from './swizzle';
import { TablePanel } from './TablePanel';

/** Accesses that are counted; more are a matter for the machine itself. */
const MOST_COUNTED = 1 << 16;

function Page() {
  const { reading, error, pending } = read.value;
  if (reading === null && error === null && pending) return null;
  const call = splitCall(boxText());
  const isCall = call.fn === '' ? (call.args[0] ?? '').includes(':') : operation(call.fn) !== undefined;
  if (error === null ? reading?.kind === 'layout' : isCall || reading?.kind === 'layout') return <Layouts />;
  return (
    <>
      <Elsewhere wants="a layout or a call of the layout algebra" example="((2,4),8):((1,16),2)" />
      <Presets />
    </>
  );
}

function Layouts() {
  const model = useModel();
  const { result, a, b } = model;
  const work = useMemo(() => workOf(result?.sizes ?? [], whole('threads', 0, 0, 63)), [result, whole('threads', 0, 0, 63)]);
  const m = machine();
  const look = lookOf(model, work, m);
  const before = useMemo(() => (i: number): number => result?.at(i) ?? NaN, [result]);
  const { after, error } = useSwizzled(model);
  const used = after ?? before;
  const counted = result !== null && result.size <= MOST_COUNTED;
  const accesses = useMemo((): Accesses | null => (counted && result !== null ? { threads: work.threads, values: work.values, at: (t, v) => result.at(work.index(t, v)) } : null), [result, work]);
  const moved = useMemo((): Accesses | null => (accesses === null || after === null ? null : { ...accesses, at: (t, v) => after(work.index(t, v)) }), [accesses, after]);
  const stale = read.value.error !== null || model.error !== null;
  return (
    <div class={stale ? 'panels stale' : 'panels'} data-pending={model.pending || read.value.pending}>
      <OperationPanel model={model} />
      {a === null ? null : (
        <Panel title="A" note={a.text}>
          <OperandGrid id="operand-a" label="A" model={model} drawn={a} look={look} />
        </Panel>
      )}
      {b === null ? null : (
        <Panel title="B" note={b.text}>
          <OperandGrid id="operand-b" label="B" model={model} drawn={b} look={look} />
        </Panel>
      )}
      {result === null ? null : (
        <>
          <Panel wide={after !== null || isWide(model)} title={model.op.fn === '' ? 'Layout' : 'Result'} note={shapeNote(model)}>
            <Controls model={model} look={look} />
            <SwizzleFields model={model} error={error} accesses={accesses} machine={m} />
            {after === null ? (
              <ResultGrid id="result" label="Result" model={model} look={look} at={before} />
            ) : (
              <SwizzlePair model={model} look={look} before={before} after={after} accesses={accesses} moved={moved} machine={m} />
            )}
            <Where model={model} look={look} at={before} />
          </Panel>
          <MemoryPanel model={model} look={look} at={used} />
          <TablePanel model={model} look={look} at={before} after={after} />
          {accesses === null ? (
            <Panel title="Accesses" note={`more than ${MOST_COUNTED} accesses are not counted`}>
              <p>A tile of this layout has counts.</p>
            </Panel>
          ) : (
            <>
              <WarpPanel machine={m} accesses={accesses} moved={moved} />
              <LinesPanel machine={m} accesses={accesses} moved={moved} />
              <BankPanel machine={m} accesses={accesses} moved={moved} />
            </>
          )}
        </>
      )}
    </div>
  );
}

/** Beside one operand, unless it has many columns. */
const isWide = (model: Model): boolean => (model.a === null) === (model.b === null) || (model.result?.sizes[1] ?? 1) > 24;

function shapeNote(model: Model): string {
  const sizes = model.result?.sizes ?? [];
  if (sizes.length < 2) return 'one mode, from left to right';
  return sizes.length === 2 ? 'mode 0 down, mode 1 across' : `mode 0 down, mode 1 across; a panel for each coordinate of the other ${sizes.length - 2}`;
}

/** The swizzle as a function of the result's indices. */
function useSwizzled(model: Model) {
  const s = model.swizzling, { result } = model;
  const asked = useAnswer<LayoutAnswer>(s === null ? null : { do: 'layout', fn: 'swizzle', args: [s.bits, s.base, s.shift] });
  const table = asked.pending || asked.error !== null ? null : numbersOf(asked.value?.table, asked.arrays, null);
  const after = useMemo(
    () => (s === null || table === null || result === null || result.least < 0 ? null : (i: number) => swizzled(table, result.at(i))),
    [s === null, asked.value, asked.pending, result],
  );
  const negative = s !== null && result !== null && result.least < 0 ? { kind: 'domain', message: `a swizzle takes no negative address: the least value is ${result.least}` } : null;
  return { after, error: s === null || model.swizzleInBox ? null : (asked.error ?? negative) };
}

export const layouts: Mode = { id: 'layouts', title: 'Layouts', about: "Layouts in CuTe's notation: the algebra, threads and values, tiles, swizzles, bank conflicts, sectors, cache lines.", Page };
