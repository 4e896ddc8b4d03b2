// A swizzle of the addresses: its three numbers, and before and after side by side with what it does to the banks.
import { useMemo, useState } from 'preact/hooks';
import type { Failure } from '../../ask';
import { param, update } from '../../state';
import { NumberField, Refusal } from '../../ui/kit';
import { type Accesses, type Machine, requestsOf, totalsOf } from './access';
import type { Model } from './model';
import { type Look, ResultGrid } from './Pictures';
import { searchSwizzle } from './search';
import { type Swizzling, writeSwizzle } from './swizzle';

interface FieldsProps {
  readonly model: Model;
  readonly error: Failure | null;
  readonly accesses: Accesses | null;
  readonly machine: Machine;
}

export function SwizzleFields(props: FieldsProps) {
  const { model } = props;
  const s = model.swizzling;
  const set = (next: Swizzling): void => update({ swz: writeSwizzle(next) }, 'swizzle');
  if (model.swizzleInBox) return null;
  return (
    <>
      <div class="fields">
        <span class="field">
          <span class="faint small">Swizzle</span>
        </span>
        {s === null ? (
          <button type="button" class="copy" onClick={() => set({ bits: 3, base: 0, shift: 3 })}>
            add one
          </button>
        ) : (
          <>
            <NumberField label="bits" value={s.bits} min={0} max={20} onChange={(bits) => set({ ...s, bits })} />
            <NumberField label="base" value={s.base} min={0} max={20} onChange={(base) => set({ ...s, base })} />
            <NumberField label="shift" value={s.shift} min={-20} max={20} onChange={(shift) => set({ ...s, shift })} />
            <button type="button" class="copy" onClick={() => update({ swz: undefined })}>
              none
            </button>
          </>
        )}
        <Search {...props} />
      </div>
      {props.error === null ? null : <Refusal error={props.error} />}
      {param('swz') !== '' && s === null ? <Refusal error={{ kind: 'parse', message: `'${param('swz')}' is no swizzle: three numbers are, as 3,0,3` }} /> : null}
    </>
  );
}

interface PairProps {
  readonly model: Model;
  readonly look: Look;
  readonly before: (index: number) => number;
  readonly after: (index: number) => number;
  readonly accesses: Accesses | null;
  readonly moved: Accesses | null;
  readonly machine: Machine;
}

export function SwizzlePair(props: PairProps) {
  const { model, look, machine } = props;
  const key = JSON.stringify(machine);
  const [before, after] = useMemo(() => [ways(props.accesses, machine), ways(props.moved, machine)], [props.accesses, props.moved, key]);
  return (
    <div class="pair">
      <figure>
        <figcaption>Before{before}</figcaption>
        <ResultGrid id="before" label="Before the swizzle" model={model} look={look} at={props.before} />
      </figure>
      <figure>
        <figcaption>After{after}</figcaption>
        <ResultGrid id="after" label="After the swizzle" model={model} look={look} at={props.after} />
      </figure>
    </div>
  );
}

function ways(a: Accesses | null, m: Machine): string {
  if (a === null) return '';
  const t = totalsOf(requestsOf(a, m), m);
  return t.ways === 1 ? ': no bank conflicts' : `: ${t.ways}-way bank conflicts, ${t.passes} passes where ${t.phases} would do`;
}

/** Tries all swizzles that stay within the memory. */
function Search({ accesses, machine, model }: FieldsProps) {
  const [said, say] = useState('');
  if (accesses === null || model.result === null || model.result.least < 0) return null;
  const span = model.result.most + 1;
  return (
    <span class="field">
      <button
        type="button"
        class="copy"
        onClick={async () => {
          say('looking …');
          const best = await searchSwizzle(accesses, machine, span);
          say(best === null ? 'no swizzle has fewer passes' : `${writeSwizzle(best)} has the fewest passes`);
          if (best !== null) update({ swz: writeSwizzle(best), colour: 'bank' });
        }}
      >
        find the best
      </button>
      <span class="note" role="status">
        {said}
      </span>
    </span>
  );
}
