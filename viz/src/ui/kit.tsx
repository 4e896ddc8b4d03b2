// The parts that modes are made of: panels, fields, choices, copies, errors.
import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef, useState } from 'preact/hooks';
import type { Failure } from '../ask';

export function Panel(props: { title: string; note?: string; actions?: ComponentChildren; children: ComponentChildren; wide?: boolean }) {
  const id = useId();
  return (
    <section class={props.wide === true ? 'panel wide' : 'panel'} aria-labelledby={id}>
      <header>
        <h2 id={id}>{props.title}</h2>
        {props.note === undefined ? null : <span class="note">{props.note}</span>}
        <span class="spring" />
        {props.actions}
      </header>
      <div class="body">{props.children}</div>
    </section>
  );
}

interface FieldProps {
  readonly label: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly error?: string | null;
  readonly width?: string;
  readonly hideLabel?: boolean;
  readonly placeholder?: string;
  readonly numeric?: boolean;
}

/** A line of text. */
export function Field(props: FieldProps) {
  const id = useId();
  const bad = props.error !== undefined && props.error !== null;
  return (
    <span class="field">
      <label for={id} class={props.hideLabel === true ? 'unseen' : ''}>
        {props.label}
      </label>
      <input
        id={id}
        type="text"
        inputMode={props.numeric === true ? 'numeric' : 'text'}
        spellcheck={false}
        autocomplete="off"
        value={props.value}
        placeholder={props.placeholder ?? ''}
        aria-invalid={bad}
        aria-describedby={bad ? id + 'e' : undefined}
        style={{ width: props.width ?? '8ch' }}
        onInput={(e) => props.onChange(e.currentTarget.value)}
      />
      {bad ? (
        <span class="bad" id={id + 'e'} role="alert">
          {props.error}
        </span>
      ) : null}
    </span>
  );
}

/** A whole number. What is typed and is none stays in the field, with a word, and changes nothing. */
export function NumberField(props: Omit<FieldProps, 'value' | 'onChange' | 'error'> & { value: number; min?: number; max?: number; onChange: (value: number) => void }) {
  const [typed, setTyped] = useState<string | null>(null);
  const problem = typed === null ? null : problemOf(typed, props.min, props.max);
  useEffect(() => {
    if (typed !== null && problem === null && Number(typed) !== props.value) setTyped(null);
  }, [props.value]);
  return (
    <Field
      {...props}
      numeric
      width={props.width ?? '6ch'}
      value={typed ?? String(props.value)}
      error={problem}
      onChange={(text) => {
        setTyped(text);
        if (problemOf(text, props.min, props.max) === null) props.onChange(Number(text));
      }}
    />
  );
}

function problemOf(text: string, min = -Number.MAX_SAFE_INTEGER, max = Number.MAX_SAFE_INTEGER): string | null {
  if (!/^\s*[+-]?\d+\s*$/.test(text)) return `'${text}' is no whole number`;
  const n = Number(text);
  return n < min ? `${n} is less than ${min}` : n > max ? `${n} is more than ${max}` : null;
}

export function Choice<T extends string>(props: { label: string; value: T; options: readonly (readonly [T, string])[]; onChange: (value: T) => void; hideLabel?: boolean }) {
  const id = useId();
  return (
    <span class="field">
      <label for={id} class={props.hideLabel === true ? 'unseen' : ''}>
        {props.label}
      </label>
      <select id={id} value={props.value} onChange={(e) => props.onChange(e.currentTarget.value as T)}>
        {props.options.map(([value, text]) => (
          <option key={value} value={value}>
            {text}
          </option>
        ))}
      </select>
    </span>
  );
}

export function Switch(props: { label: string; value: boolean; onChange: (value: boolean) => void }) {
  const id = useId();
  return (
    <span class="field switch">
      <input id={id} type="checkbox" checked={props.value} onChange={(e) => props.onChange(e.currentTarget.checked)} />
      <label for={id}>{props.label}</label>
    </span>
  );
}

export function Slider(props: { label: string; value: number; min: number; max: number; onChange: (value: number) => void; step?: number }) {
  const id = useId();
  return (
    <span class="field slider">
      <label for={id}>{props.label}</label>
      <input id={id} type="range" min={props.min} max={props.max} step={props.step ?? 1} value={props.value} onInput={(e) => props.onChange(Number(e.currentTarget.value))} />
      <output for={id}>{props.value}</output>
    </span>
  );
}

/** Copies a text; says so. */
export function Copy(props: { text: string; label?: string; caption?: string }) {
  const [done, setDone] = useState(false);
  const timer = useRef(0);
  return (
    <button
      type="button"
      class="copy"
      aria-label={props.label === undefined ? 'Copy' : `Copy ${props.label}`}
      onClick={async () => {
        await copyText(props.text);
        setDone(true);
        clearTimeout(timer.current);
        timer.current = window.setTimeout(() => setDone(false), 1500);
      }}
    >
      {done ? 'copied' : (props.caption ?? 'copy')}
    </button>
  );
}

export async function copyText(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // Pages from disk may not have the clipboard's interface: a selection can be copied everywhere.
    const area = document.createElement('textarea');
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand('copy');
    area.remove();
  }
}

/** A text with its name and a copy. */
export function Spelling(props: { name: string; text: string }) {
  return (
    <div class="spelling">
      <span class="name">{props.name}</span>
      <code>{props.text}</code>
      <Copy text={props.text} label={props.name} />
    </div>
  );
}

/** An error of the engine; with a text, a caret below the place. `column` counts bytes of UTF-8. */
export function Refusal(props: { error: Failure; text?: string; id?: string }) {
  const { error, text } = props;
  const caret = text !== undefined && error.column !== undefined ? caretOf(text, error.column) : null;
  return (
    <div class="refusal" role="alert" id={props.id}>
      {caret === null ? null : (
        <pre aria-hidden="true">
          {caret.line}
          {'\n'}
          {' '.repeat(caret.at)}^
        </pre>
      )}
      <p>
        {error.message}
        {caret === null ? '' : ` (column ${caret.at + 1}${caret.number > 1 ? ` of line ${caret.number}` : ''})`}
      </p>
    </div>
  );
}

export interface Caret {
  readonly line: string;
  readonly at: number;
  /** From 1. */
  readonly number: number;
}

/** The line that holds byte `column` (from 1) of a text, and the place in it, in characters. */
export function caretOf(text: string, column: number): Caret {
  const before = new TextDecoder().decode(new TextEncoder().encode(text).subarray(0, column - 1));
  const lines = before.split('\n');
  const number = lines.length;
  const last = lines.at(-1) ?? '';
  return { line: text.split('\n')[number - 1] ?? '', at: [...last].length, number };
}
