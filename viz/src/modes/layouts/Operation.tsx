// The call: a menu of the algebra's functions, a box for each argument, the answer or why there is none.
import { useState } from 'preact/hooks';
import { boxText, read, setBoxText } from '../../reading';
import { update } from '../../state';
import { Copy, Field, Panel, Refusal } from '../../ui/kit';
import { type Call, joinCall, splitCall } from './call';
import { argumentsFor, type Family, operation, OPERATIONS, PRESETS } from './functions';
import type { Model } from './model';
import { depthOf, leavesOf } from './notation';

const FAMILIES: readonly (readonly [Family, string])[] = [
  ['alone', 'one layout'], ['compose', 'composition'], ['divide', 'tiles of A'], ['product', 'copies of A'],
  ['inverse', 'inverses'], ['swizzle', 'swizzle'], ['value', 'values'],
];

export function OperationPanel({ model }: { model: Model }) {
  const [typed, setTyped] = useState<{ text: string; call: Call } | null>(null);
  const text = boxText();
  // What is typed into an argument stays there, even where the text around it cannot be taken apart again.
  const call = typed !== null && typed.text === text ? typed.call : splitCall(text);
  const op = operation(call.fn);
  const write = (next: Call, merge: string | null): void => {
    const written = joinCall(next);
    setTyped({ text: written, call: next });
    setBoxText(written, merge);
  };
  return (
    <Panel wide title="Operation" note={op?.promise ?? `there is no function ${call.fn}`} actions={<Presets />}>
      <div class="fields operation">
        <span class="field">
          <label for="operation">Function</label>
          <select id="operation" value={op === undefined ? '?' : call.fn} onChange={(e) => write(switched(call, e.currentTarget.value), null)}>
            {op === undefined ? <option value="?">{call.fn}</option> : null}
            {FAMILIES.map(([family, title]) => (
              <optgroup key={family} label={title}>
                {OPERATIONS.filter((o) => o.family === family).map((o) => (
                  <option key={o.fn} value={o.fn}>
                    {o.title}
                  </option>
                ))}
              </optgroup>
            ))}
          </select>
        </span>
        {(op?.args ?? call.args).map((name, k) => (
          <Field
            key={`${call.fn}${k}`}
            label={name}
            value={call.args[k] ?? ''}
            width={op?.family === 'swizzle' || name === 'until' || name === 'index' ? '7ch' : `${Math.max(18, (call.args[k] ?? '').length + 2)}ch`}
            onChange={(value) => write({ ...call, args: (op?.args ?? call.args).map((_, i) => (i === k ? value : (call.args[i] ?? ''))) }, `argument${k}`)}
          />
        ))}
      </div>
      {model.error === null || read.value.error !== null ? null : <Refusal error={model.error} />}
      <Answer model={model} />
    </Panel>
  );
}

function switched(call: Call, fn: string): Call {
  const next = operation(fn);
  return next === undefined ? call : { ...call, fn, args: argumentsFor(next, call.args, operation(call.fn)) };
}

function Answer({ model }: { model: Model }) {
  const { result, text, value } = model;
  if (value !== undefined) return <p class="answer">= <code>{written(value)}</code></p>;
  if (model.swizzleInBox && result !== null)
    return (
      <p class="answer">
        = <span class="note">a permutation of 0 to {result.size - 1}; its own inverse. Below: what it does to <code>{text}</code></span>
      </p>
    );
  if (text === null) return <p class="answer faint">{' '}</p>;
  return (
    <p class="answer">
      = <code>{text}</code> <Copy text={text} label="the result" />
      {result === null ? (
        <span class="note"> Its sizes have names: the mode Symbolic draws it for their values.</span>
      ) : (
        <span class="note">
          {' '}
          size {result.size} · values {result.least} to {result.most} · {plural(result.sizes.length, 'mode')} · {plural(leavesOf(result.layout.shape).length, 'leaf', 'leaves')} · depth {depthOf(result.layout.shape)}
        </span>
      )}
    </p>
  );
}

const plural = (n: number, one: string, more = `${one}s`): string => `${n} ${n === 1 ? one : more}`;
/** Lists as coordinates are written. */
const written = (value: unknown): string => (Array.isArray(value) ? `(${value.map(written).join(',')})` : String(value));

export function Presets() {
  return (
    <select
      aria-label="Layouts to begin with"
      value=""
      onChange={(e) => {
        const preset = PRESETS[Number(e.currentTarget.value)];
        const clear = { colour: undefined, swz: undefined, rows: undefined, bytes: undefined, only: undefined, request: undefined, threads: undefined, vector: undefined };
        if (preset !== undefined) update({ ...clear, ...preset.set });
        e.currentTarget.value = '';
      }}
    >
      <option value="" disabled>
        presets…
      </option>
      {PRESETS.map((preset, i) => (
        <option key={preset.title} value={i}>
          {preset.title}
        </option>
      ))}
    </select>
  );
}
