// Questions to the engine, as hooks: the answer of now, or the one before it while a newer one is on its way.
import { signal } from '@preact/signals';
import { useEffect, useRef, useState } from 'preact/hooks';
import { firstReply } from './first';
import { client } from './engine/client';
import type { Failure, Numbers, Reply, Request } from './engine/instance';

export type { Failure, Numbers, Reply, Request } from './engine/instance';

/** How long the engine took to be there; null before. */
export const engineMilliseconds = signal<number | null>(null);
/** Why there will be none. */
export const engineFault = signal<string | null>(null);
client.ready.then(
  (milliseconds) => (engineMilliseconds.value = milliseconds),
  (error: Error) => (engineFault.value = error.message),
);

/** How many questions are not answered yet. */
export const unanswered = signal(0);

/** The engine's answer; those of the first example are part of the page. */
export async function ask(request: Request): Promise<Reply> {
  const known = firstReply(request);
  if (known !== null) return known;
  unanswered.value += 1;
  const reply = await client.ask(request);
  unanswered.value -= 1;
  return reply;
}

export interface Asked<T> {
  /** The last answer that was no error; null before there is one. */
  readonly value: T | null;
  readonly arrays: readonly Numbers[];
  readonly error: Failure | null;
  /** Whether `value` belongs to an earlier request. */
  readonly pending: boolean;
}
const NOTHING: Asked<never> = { value: null, arrays: [], error: null, pending: false };

/** The answer to `request`; a null request asks nothing. Answers to requests that were replaced are dropped. */
export function useAnswer<T>(request: Request | null): Asked<T> {
  const key = request === null ? null : JSON.stringify(request);
  const known = request === null ? null : firstReply(request);
  const [asked, setAsked] = useState<{ key: string | null; value: Asked<T> }>(() => ({
    key: known === null ? null : key,
    value: known === null ? NOTHING : replied<T>(known, NOTHING),
  }));
  const newest = useRef(key);
  newest.current = key;
  useEffect(() => {
    if (request === null) return setAsked({ key: null, value: NOTHING });
    let dropped = false;
    ask(request).then((reply) => {
      if (!dropped && newest.current === key) setAsked((before) => ({ key, value: replied<T>(reply, before.value) }));
    });
    return () => {
      dropped = true;
    };
  }, [key]);
  return asked.key === key ? asked.value : { ...asked.value, pending: key !== null };
}

function replied<T>(reply: Reply, before: Asked<T>): Asked<T> {
  const error = reply.answer.error;
  if (error !== undefined) return { value: before.value, arrays: before.arrays, error, pending: false };
  return { value: reply.answer as T, arrays: reply.arrays, error: null, pending: false };
}
