// What the one box says: its text as the engine reads it, shared by all modes.
import { signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { type Failure, type Request, useAnswer } from './ask';
import { FIRST_TEXT } from './first-text';
import { readRequest } from './requests';
import { param, state, update } from './state';

export type Kind = 'view' | 'layout' | 'expr' | 'kernel';
export interface Form {
  readonly name: string;
  readonly text: string;
}
/** The answer to `read`: what the text is, as the request that asks about it, and its other spellings. */
export interface Reading {
  readonly kind: Kind;
  readonly vars: Readonly<Record<string, readonly [number, number]>>;
  readonly request: Request;
  readonly valid?: string;
  /** Names that have no bounds in the text. */
  readonly unbound?: readonly string[];
  readonly forms: readonly Form[];
}

export interface Read {
  readonly text: string;
  /** The last text that could be read. */
  readonly reading: Reading | null;
  readonly error: Failure | null;
  readonly pending: boolean;
}

export const boxText = (): string => param('q', FIRST_TEXT);
export const setBoxText = (text: string, merge: string | null = null): void =>
  update({ q: text, opts: undefined }, merge);

export const read = signal<Read>({ text: '', reading: null, error: null, pending: true });

/** Keeps `read` in step with the box. Called once, by the frame. */
export function useReading(): void {
  const text = boxText();
  const asked = useAnswer<Reading>(text.trim() === '' ? null : readRequest(text));
  useEffect(() => {
    read.value = { text, reading: asked.value, error: asked.error, pending: asked.pending };
  }, [text, asked.value, asked.error, asked.pending]);
}

/** The mode that is shown: the one of the link, or the one that fits the text. */
export function modeShown(): string {
  const said = state.value['mode'];
  if (said !== undefined && said !== '') return said;
  // A page that came with a trace is about that.
  if (state.value['q'] === undefined && document.getElementById('trace') !== null) return 'live';
  const kind = read.value.reading?.kind;
  return kind === 'kernel' ? 'kernel' : kind === 'layout' ? 'layouts' : kind === 'expr' ? 'expression' : 'box';
}
