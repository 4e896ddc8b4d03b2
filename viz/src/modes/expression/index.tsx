// An index expression: variables with bounds, a text, where it is valid; its simplest form, its bounds, its values, and the rules
// that led there.
import { useEffect, useMemo, useState } from 'preact/hooks';
import { type Request, useAnswer } from '../../ask';
import type { ExprAnswer } from '../../answers';
import { amountShade } from '../../draw/colours';
import { numbersOf } from '../../draw/field';
import { GridView } from '../../draw/GridView';
import { Strip, touchesOf } from '../../draw/Strip';
import { offer } from '../../export';
import { boxText, read, type Reading, setBoxText } from '../../reading';
import { Elsewhere } from '../../ui/Elsewhere';
import { Field, Panel, Refusal, Spelling } from '../../ui/kit';
import { rangeOf, useField } from '../../ui/Picture';
import { Whereabouts } from '../../ui/Whereabouts';
import type { Mode } from '../mode';
import { type Bounds, drawnOrder, freeName, movedVar, nameProblem, type Parts, partsOf, readParts, renamed, textOf, withVar } from './parts';
import { type Step, Steps } from './Steps';

const EXAMPLE = 'ridx0: 0..2; ridx1: 0..1; ((((ridx0*2)+ridx1)%3)*2)+(((ridx0*2)+ridx1)//3)';
const PROPOSED = { min: '0', max: '7' };
const MOST_LISTED = 4096;
const MOST_WRITTEN = 64;

function Page() {
  const { reading, error, pending } = read.value;
  const typed = useMemo(() => readParts(boxText()), [boxText()]);
  const said = reading?.kind === 'expr' ? reading : null;
  const parts = typed ?? (said === null ? null : partsOf(said));
  const isOther = reading !== null && said === null && error === null && !pending;
  if (parts === null || isOther) return <Elsewhere wants="an expression" example={EXAMPLE} />;
  const unbound = said !== null && error === null ? (said.unbound ?? []).filter((name) => !parts.vars.some((v) => v.name === name)) : [];
  return (
    <div class="panels">
      <Panel title="Expression" note="boxes and text are one">
        <Boxes parts={parts} unbound={unbound} />
      </Panel>
      {said === null ? null : <Answers reading={said} />}
    </div>
  );
}

// --- boxes ---

/** A box whose text may be wrong for a while: what is wrong stays in it, with a word, and changes nothing. */
function Draft(props: { label: string; value: string; width: string; numeric?: boolean; problem: (text: string) => string | null; onChange: (text: string) => void }) {
  const [typed, setTyped] = useState<string | null>(null);
  useEffect(() => setTyped(null), [props.value]);
  const { problem, onChange, ...rest } = props;
  return (
    <Field
      {...rest}
      hideLabel
      value={typed ?? props.value}
      error={typed === null ? null : problem(typed.trim())}
      onChange={(text) => {
        const bad = problem(text.trim()) !== null;
        setTyped(bad ? text : null);
        if (!bad) onChange(text.trim());
      }}
    />
  );
}

const numberProblem = (text: string): string | null => (/^-?\d+$/.test(text) ? null : `'${text}' is no whole number`);

function Boxes({ parts, unbound }: { parts: Parts; unbound: readonly string[] }) {
  const write = (next: Parts, merge: string): void => setBoxText(textOf(next), merge);
  const all = { ...parts, vars: [...parts.vars, ...unbound.map((name) => ({ name, ...PROPOSED }))] };
  const declared = parts.vars.length;
  return (
    <>
      <table class="dims">
        <thead>
          <tr>
            <th scope="col">variable</th>
            <th scope="col">least</th>
            <th scope="col">most</th>
            <td />
          </tr>
        </thead>
        <tbody>
          {all.vars.map((v, i) => (
            <tr key={i}>
              <td>
                <Draft label={`Name of variable ${i + 1}`} width="10ch" value={v.name} problem={(name) => nameProblem(name, all.vars.filter((_, k) => k !== i).map((o) => o.name))} onChange={(name) => write(renamed(i < declared ? parts : all, v.name, name), `name ${i}`)} />
              </td>
              <td>
                <Draft label={`Least ${v.name}`} width="8ch" numeric value={v.min} problem={numberProblem} onChange={(min) => write(withVar(all, i, { min }), `least ${i}`)} />
              </td>
              <td>
                <Draft label={`Most ${v.name}`} width="8ch" numeric value={v.max} problem={numberProblem} onChange={(max) => write(withVar(all, i, { max }), `most ${i}`)} />
              </td>
              <td class="row-buttons">
                {i < declared ? (
                  <>
                    <button type="button" disabled={i === 0} aria-label={`Move ${v.name} up`} title="up" onClick={() => write(movedVar(parts, i, -1), 'order')}>
                      ↑
                    </button>
                    <button type="button" disabled={i >= declared - 1} aria-label={`Move ${v.name} down`} title="down" onClick={() => write(movedVar(parts, i, 1), 'order')}>
                      ↓
                    </button>
                    <button type="button" aria-label={`Remove ${v.name}`} title="remove" onClick={() => write({ ...parts, vars: parts.vars.filter((_, k) => k !== i) }, 'remove')}>
                      ✕
                    </button>
                  </>
                ) : (
                  <span class="note">proposed</span>
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      <div class="fields buttons-row">
        <button type="button" onClick={() => write({ ...parts, vars: [...parts.vars, { name: freeName(all), min: '0', max: '3' }] }, 'add')}>
          Add a variable
        </button>
        <button type="button" disabled={unbound.length === 0} onClick={() => write(all, 'bounds')}>
          Keep the proposed bounds
        </button>
      </div>
      <div class="texts">
        <Field label="Index" width="100%" value={parts.text} onChange={(text) => write({ ...parts, text }, 'index')} />
        <Field label="Valid" width="100%" placeholder="1" value={parts.valid} onChange={(valid) => write({ ...parts, valid }, 'valid')} />
        {parts.assume.map((a, i) => (
          <Field key={i} label="Assumed" width="100%" value={a} onChange={(text) => write({ ...parts, assume: parts.assume.flatMap((old, k) => (k !== i ? [old] : text.trim() === '' ? [] : [text])) }, `assume ${i}`)} />
        ))}
      </div>
    </>
  );
}

// --- answers ---

const isAlways = (valid: string): boolean => valid.trim() === '' || valid.trim() === '1';

interface Notations {
  readonly python?: string;
  readonly latex?: string;
}

function Answers({ reading }: { reading: Reading }) {
  const parts = partsOf(reading);
  const vars = useMemo((): Bounds => {
    const out: Record<string, readonly [number, number]> = { ...reading.vars };
    for (const name of reading.unbound ?? []) out[name] ??= [Number(PROPOSED.min), Number(PROPOSED.max)];
    return out;
  }, [reading]);
  const assume = [...parts.assume, ...(isAlways(parts.valid) ? [] : [parts.valid])];
  const asked = useAnswer<ExprAnswer & Notations & { trace: readonly Step[] }>({ do: 'expr', text: parts.text, vars, ...(assume.length === 0 ? {} : { assume }), trace: true, notations: true });
  const answer = asked.value;
  useEffect(() => (answer === null ? undefined : offer('expression', { json: () => answer, latex: () => answer.latex ?? '' })), [answer]);
  return (
    <>
      <Panel title="Simplified" note={isAlways(parts.valid) ? '' : 'the same where it is valid; its bounds hold everywhere'}>
        {asked.error === null ? null : <Refusal error={asked.error} />}
        {answer === null ? null : (
          <div data-pending={asked.pending}>
            <Spelling name="index" text={answer.render} />
            <Spelling name="C" text={answer.c} />
            {answer.python === undefined ? null : <Spelling name="Python" text={answer.python} />}
            {answer.latex === undefined ? null : <Spelling name="LaTeX" text={answer.latex} />}
            <dl class="facts">
              <dt>bounds</dt>
              <dd>
                {answer.min} to {answer.max} <span class="faint">{answer.exact ? 'exact: both are attained' : 'never outside; perhaps less'}</span>
              </dd>
              <dt>depends on</dt>
              <dd>{answer.free.length === 0 ? 'nothing: it is constant' : answer.free.join(', ')}</dd>
            </dl>
          </div>
        )}
      </Panel>
      <Values text={parts.text} valid={parts.valid} vars={vars} />
      {answer === null ? null : <Steps steps={answer.trace} parts={parts} vars={vars} result={answer.render} />}
    </>
  );
}

/** The values as a picture: the first variable down, the last one across, the others a panel each. */
function Values(props: { text: string; valid: string; vars: Bounds }) {
  const { text, valid, vars } = props;
  const drawn = drawnOrder(vars);
  const names = Object.keys(drawn), firsts = Object.values(drawn).map(([least]) => least);
  const of = (bounds: Bounds): Request => ({ do: 'view', expr: text, valid: valid === '' ? '1' : valid, vars: bounds });
  const { asked, field, version } = useField(of(drawn));
  const size = Object.values(vars).reduce((n, [least, most]) => n * (most - least + 1), 1);
  const all = useAnswer<{ addresses: unknown }>(size <= MOST_LISTED ? { ...of(vars), addresses: true } : null);
  const values = useMemo(() => (all.value === null ? null : numbersOf(all.value.addresses, all.arrays)), [all.value]);
  const bounds = useAnswer<ExprAnswer>({ do: 'expr', text, vars });
  const listed = values === null ? null : rangeOf(values);
  const [least, most] = listed ?? [bounds.value?.min ?? 0, bounds.value?.max ?? 0];
  const shade = amountShade(least, most);
  const placed = (c: readonly number[]): string => names.map((name, d) => `${name}=${(c[d] ?? 0) + (firsts[d] ?? 0)}`).join(' ');
  return (
    <>
      <Panel wide title="Values" note={names.length === 0 ? '' : names.length === 1 ? `${names[0]} across` : `${names.at(-2)} down, ${names.at(-1)} across${names.length > 2 ? `, a panel for each ${names.slice(0, -2).join(', ')}` : ''}`}>
        {asked.error === null ? null : <Refusal error={asked.error} />}
        {field === null ? null : <GridView id="values" label="Values" field={field} shade={shade} version={version} names={names} firsts={firsts} />}
        <Whereabouts word="value" place={placed} formula={{ text, names, least: firsts }} />
        {values === null ? null : <p class="note">{takenText(values)}</p>}
        {values === null || values.length > MOST_WRITTEN ? null : <Spelling name="in order" text={[...values].map((v) => (Number.isNaN(v) ? '·' : String(v))).join(' ')} />}
      </Panel>
      {values === null || !values.some((v) => !Number.isNaN(v)) ? null : (
        <Panel wide title="Memory" note="filled: a value that is taken, ×n: n times; empty: a gap">
          <Touched values={values} least={least} most={most} />
        </Panel>
      )}
    </>
  );
}

/** The values that are taken, in a sentence. */
function takenText(values: Float64Array): string {
  const valid = [...values].filter((v) => !Number.isNaN(v));
  if (valid.length === 0) return 'taken: none, it is nowhere valid';
  const [least, most] = rangeOf(values);
  return `taken: ${least} to ${most}, ${new Set(valid).size} different ones, in ${valid.length} of ${values.length} places`;
}

function Touched(props: { values: Float64Array; least: number; most: number }) {
  const touched = useMemo(() => touchesOf(props.values), [props.values]);
  return <Strip id="memory" label="Memory" touched={touched} first={Math.min(0, props.least)} last={Math.max(0, props.most)} shade={amountShade(props.least, props.most)} />;
}

export const expression: Mode = { id: 'expression', title: 'Expression', about: 'An index expression: its simplest form, its bounds, its values, and the rules that led there, each with its proof.', Page };
