// Bounded sizes as sliders: expressions stay symbolic, the picture follows. And the box that proves.
import { useEffect, useMemo, useState } from 'preact/hooks';
import { type Request, useAnswer } from '../../ask';
import type { ExprAnswer, ViewAnswer, ViewOfStack } from '../../answers';
import { read, type Reading } from '../../reading';
import { param, update } from '../../state';
import { Elsewhere } from '../../ui/Elsewhere';
import { Panel, Refusal, Slider, Spelling, Switch } from '../../ui/kit';
import { Picture, RequestPicture } from '../../ui/Picture';
import { Whereabouts } from '../../ui/Whereabouts';
import type { Mode } from '../mode';
import { type Bounds, chosenText, concreteRequest, layoutAt, type Values, valuesOf, viewsAt } from './bound';
import { Prove } from './Prove';

const WANTED = 'what has variables with bounds';
const EXAMPLE = 'n: 1..12; (n,3).permute(1,0)';

function Page() {
  const { reading } = read.value;
  if (reading === null) return <Elsewhere wants={WANTED} example={EXAMPLE} />;
  const symbolic = reading.kind !== 'kernel' && Object.keys(reading.vars).length > 0;
  return (
    <div class="panels">
      {symbolic ? <Sliders reading={reading} /> : <Elsewhere wants={WANTED} example={EXAMPLE} />}
      <Prove reading={reading} />
    </div>
  );
}

function Sliders({ reading }: { reading: Reading }) {
  const free = reading.kind === 'expr' ? sizeNames(reading) : Object.keys(reading.vars);
  const sizes: Bounds = Object.fromEntries(Object.entries(reading.vars).filter(([name]) => free.includes(name)));
  const values = valuesOf(sizes, param('at'));
  return (
    <>
      <Panel title="Sizes" note="each within its bounds">
        {reading.kind === 'expr' ? <Chooser reading={reading} chosen={free} /> : null}
        {Object.entries(sizes).map(([name, [least, most]]) => (
          <div key={name}>
            <Slider label={name} min={least} max={most} value={values[name] ?? least} onChange={(v) => update({ at: chosenText({ ...values, [name]: v }) }, 'slider')} />
            <span class="note">
              {least} to {most}
            </span>
          </div>
        ))}
        {reading.kind === 'view' ? <Symbols request={reading.request} /> : reading.kind === 'expr' ? <SymbolicExpr reading={reading} /> : null}
      </Panel>
      <Panel title="At these sizes" note={Object.entries(values).map(([name, v]) => `${name} = ${v}`).join(', ')}>
        {reading.kind === 'view' ? <ViewAt request={reading.request} values={values} /> : null}
        {reading.kind === 'expr' ? <ExprAt reading={reading} values={values} /> : null}
        {reading.kind === 'layout' ? <Picture id="at" text={layoutText(reading, values)} /> : null}
        <Whereabouts />
      </Panel>
    </>
  );
}

// --- Views ---

function Symbols({ request }: { request: Request }) {
  const asked = useAnswer<ViewAnswer>({ ...request, simplify: true });
  if (asked.error !== null) return <Refusal error={asked.error} />;
  if (asked.value === null) return null;
  const { shape, idx, valid, text, real_size } = asked.value;
  return (
    <>
      <Spelling name="shape" text={`(${shape.join(', ')}${shape.length === 1 ? ',' : ''})`} />
      <Spelling name="index" text={idx} />
      <Spelling name="valid" text={valid} />
      <Spelling name="memory" text={real_size === null ? 'depends on the sizes' : String(real_size)} />
      <Spelling name="text" text={text} />
    </>
  );
}

function ViewAt({ request, values }: { request: Request; values: Values }) {
  const asked = useAnswer<ViewAnswer>({ ...request, simplify: true });
  const [views, setViews] = useState<readonly ViewOfStack[] | null>(null);
  useEffect(() => {
    if (asked.value === null || asked.pending) return;
    let dropped = false;
    void viewsAt(asked.value.views, values).then((found) => (dropped ? undefined : setViews(found)));
    return () => {
      dropped = true;
    };
  }, [asked.value, asked.pending, chosenText(values)]);
  return views === null ? null : <RequestPicture id="at" request={concreteRequest(views)} />;
}

// --- expressions ---

/** Which variables are sizes: those that were chosen, or else those whose least value is not 0, or else none. */
function sizeNames(reading: Reading): string[] {
  const said = param('sizes', '?');
  const names = Object.keys(reading.vars);
  if (said !== '?') return names.filter((n) => said.split(',').includes(n));
  return names.filter((n) => (reading.vars[n]?.[0] ?? 0) !== 0);
}

function Chooser({ reading, chosen }: { reading: Reading; chosen: readonly string[] }) {
  return (
    <p>
      <span class="faint">Sliders: </span>
      {Object.keys(reading.vars).map((name) => (
        <Switch key={name} label={name} value={chosen.includes(name)} onChange={(on) => update({ sizes: (on ? [...chosen, name] : chosen.filter((n) => n !== name)).join(',') })} />
      ))}
    </p>
  );
}

function SymbolicExpr({ reading }: { reading: Reading }) {
  const asked = useAnswer<ExprAnswer>(reading.request);
  if (asked.error !== null) return <Refusal error={asked.error} />;
  if (asked.value === null) return null;
  return (
    <>
      <Spelling name="simplified" text={asked.value.render} />
      <Spelling name="bounds" text={`${asked.value.min} to ${asked.value.max}${asked.value.exact ? '' : ' at most'}`} />
    </>
  );
}

function ExprAt({ reading, values }: { reading: Reading; values: Values }) {
  const { text } = reading.request as { text: string };
  // Fixed ones come first: rows and columns are what is left.
  const vars: Record<string, readonly [number, number]> = {};
  for (const [name, v] of Object.entries(values)) vars[name] = [v, v];
  for (const [name, bounds] of Object.entries(reading.vars)) vars[name] ??= bounds;
  const request = useMemo(() => ({ do: 'view', expr: text, valid: reading.valid ?? '1', vars }), [text, reading.valid, JSON.stringify(vars)]);
  return <RequestPicture id="at" request={request} />;
}

function layoutText(reading: Reading, values: Values): string {
  const { fn, args } = reading.request as { fn?: string; args: readonly unknown[] };
  const bound = args.map((a) => (typeof a === 'string' ? layoutAt(a, values) : String(a)));
  return fn === undefined ? (bound[0] ?? '') : `${fn}(${bound.join(', ')})`;
}

export const symbolic: Mode = { id: 'symbolic', title: 'Symbolic', about: 'Bounded sizes as sliders: expressions stay symbolic, the picture follows. And a box that proves.', Page };
