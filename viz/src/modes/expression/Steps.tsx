// The rules that fired, one after the other: what each did here, when it may, and why it is right.
import { type Request, useAnswer } from '../../ask';
import { update, whole } from '../../state';
import { Panel, Spelling } from '../../ui/kit';
import type { Parts } from './parts';
import { wholes } from './replay';

export interface Step {
  readonly rule: string;
  readonly title: string;
  readonly before: string;
  readonly after: string;
  readonly guard: string;
  readonly proof: string;
  readonly check: string;
}
interface Rule {
  readonly name: string;
  readonly section: string;
  readonly before: string;
  readonly after: string;
}

const proofText = (step: Step): string => (step.proof !== '' ? step.proof : step.check === 'z3' ? 'proven by Z3, for all values' : 'proven in writing');

export function Steps(props: { steps: readonly Step[]; parts: Parts; vars: Readonly<Record<string, readonly [number, number]>>; result: string }) {
  const { steps } = props;
  const at = whole('step', null, 0, steps.length - 1);
  const show = (k: number | null): void => update({ step: k === null ? undefined : String(k) });
  return (
    <Panel wide title="Rules that fired" note={steps.length === 0 ? '' : `${steps.length} ${steps.length === 1 ? 'step' : 'steps'}, in order; click one`}>
      {steps.length === 0 ? (
        <p class="faint">None: no rule makes it simpler.</p>
      ) : (
        <>
          <ol class="steps">
            {steps.map((step, k) => (
              <li key={k} class={k === at ? 'here' : ''}>
                <button type="button" aria-pressed={k === at} onClick={() => show(k === at ? null : k)}>
                  <b>{step.rule}</b> {step.title}
                </button>
                <span class="rewrite">
                  <code>{step.before}</code> <span aria-label="becomes">→</span> <code>{step.after}</code>
                </span>
                <span class="reason">
                  {step.guard === '1' || step.guard === 'always' ? (
                    'always'
                  ) : (
                    <>
                      if <code>{step.guard}</code>
                    </>
                  )}{' '}
                  <span class="faint">· {proofText(step)}</span>
                </span>
              </li>
            ))}
          </ol>
          {steps.some((s) => (s.before + s.after).includes('#')) ? <p class="faint">A name with # is that variable where the condition holds.</p> : null}
          {at === null ? <p class="faint">The result is {props.result}.</p> : <At {...props} step={at} />}
        </>
      )}
    </Panel>
  );
}

/** The expression as it is behind a step, and the rule itself. */
function At(props: { steps: readonly Step[]; parts: Parts; vars: Readonly<Record<string, readonly [number, number]>>; step: number }) {
  const { steps, parts, step } = props;
  const fired = steps[step];
  const before = wholes(parts.text, steps.slice(0, step)).reduce<string>((last, now) => now ?? last, parts.text);
  const after = wholes(parts.text, steps)[step] ?? null;
  const rules = useAnswer<{ rules: readonly Rule[] }>({ do: 'rules' });
  const rule = rules.value?.rules.find((r) => r.name === fired?.rule);
  const assume = [...parts.assume, ...(parts.valid === '' ? [] : [parts.valid])];
  const request: Request | null = after === null ? null : { do: 'prove', text: `(${parts.text}) == (${after})`, vars: props.vars, ...(assume.length === 0 ? {} : { assume }) };
  const proven = useAnswer<{ answer: string }>(request);
  const holds = proven.value?.answer === 'true' && !proven.pending;
  return (
    <div class="at-step" data-pending={proven.pending || rules.pending}>
      <h3>At step {step + 1}</h3>
      <Spelling name="before it" text={before} />
      {after === null ? <p class="faint">It answered a question on the side, of a condition or a bound: the expression stays.</p> : holds ? <Spelling name="after it" text={after} /> : null}
      {after !== null && holds ? <p class="good">Proven equal to the text, for all values within the bounds.</p> : null}
      {rule === undefined ? null : <Spelling name="the rule" text={`${rule.name}, ${rule.section}: ${rule.before} → ${rule.after}`} />}
    </div>
  );
}
