// Equal? Injective? Contiguous? In bounds? The engine proves it, or draws where it is not so.
import { useAnswer } from '../../ask';
import { boxText, type Reading } from '../../reading';
import { param, update } from '../../state';
import { Choice, Field, Panel, Refusal } from '../../ui/kit';
import { Picture } from '../../ui/Picture';
import { type Witness, witnessText } from '../../witness';

type What = 'equal' | 'injective' | 'contiguous' | 'in_bounds';
const QUESTIONS: readonly (readonly [What, string])[] = [
  ['equal', 'equal to another text?'],
  ['injective', 'injective: no two elements at one address?'],
  ['contiguous', 'contiguous: row-major, without gaps?'],
  ['in_bounds', 'in bounds: within so many elements?'],
];

interface Check {
  readonly answer: 'true' | 'false' | 'unknown';
  readonly witness: Witness | null;
  /** Values of symbolic sizes that belong to the witness. */
  readonly at?: Readonly<Record<string, number>>;
  readonly note?: string;
}

export function Prove({ reading }: { reading: Reading }) {
  const what = QUESTIONS.find(([name]) => name === param('prove'))?.[0] ?? 'injective';
  const other = param('other', boxText());
  const size = param('size', '64');
  const sizeIsWrong = !/^\d+$/.test(size.trim());
  const request = reading.kind === 'kernel' || (what === 'in_bounds' && sizeIsWrong) ? null : { do: 'check', what, a: boxText(), ...(what === 'equal' ? { b: other } : {}), ...(what === 'in_bounds' ? { size: Number(size) } : {}) };
  const asked = useAnswer<Check>(request);
  const answer = asked.value;
  return (
    <Panel title="Prove" note="for all values, not for samples">
      <div class="fields">
        <Choice label="Is it" value={what} options={QUESTIONS} onChange={(v) => update({ prove: v })} />
        {what === 'equal' ? <Field label="Other" width="40ch" value={other} onChange={(v) => update({ other: v }, 'other')} /> : null}
        {what === 'in_bounds' ? <Field label="Elements" value={size} numeric error={sizeIsWrong ? `'${size}' is no number of elements` : null} onChange={(v) => update({ size: v }, 'size')} /> : null}
      </div>
      {reading.kind === 'kernel' ? <p class="faint">Every access of a kernel is proven in the mode Kernel.</p> : null}
      {asked.error !== null ? <Refusal error={asked.error} text={what === 'equal' ? other : boxText()} /> : null}
      {answer === null || asked.error !== null || request === null ? null : (
        <div class={answer.answer === 'true' ? 'verdict right' : 'verdict'} role="status" data-pending={asked.pending} data-answer={answer.answer}>
          {words(answer, reading)}
        </div>
      )}
      {answer?.answer === 'false' && answer.witness !== null && answer.at === undefined && asked.error === null ? <Picture id="witness" text={boxText()} hides marks={answer.witness} /> : null}
    </Panel>
  );
}

function words(check: Check, reading: Reading): string {
  const note = check.note === undefined || check.note === '' ? '' : ` ${check.note}`;
  if (check.answer === 'true') return `Yes, proven.${note}`;
  if (check.answer === 'unknown') return `Not decided within the engine's budget.${note}`;
  const sizes = Object.entries(check.at ?? {}).map(([name, v]) => `${name} = ${v}`);
  const place = check.witness === null ? '' : ` Counterexample: ${[...sizes, witnessText(check.witness, reading)].join(', ')}.`;
  return `No.${place}${note}`;
}
