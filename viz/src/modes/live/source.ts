// Where a trace comes from: a file, what `strata viz FILE` put into the page, or the server of `strata viz --serve` as it grows.
import { signal } from '@preact/signals';
import { Trace } from './trace';

export interface Loaded {
  readonly trace: Trace;
  readonly name: string;
  /** Counts up when there is more of it. */
  readonly version: number;
  readonly follows: boolean;
}

export const loaded = signal<Loaded | null>(null);
export const problem = signal<string | null>(null);

const SLICE = 1 << 18; // characters that are read in one go: some milliseconds
const POLL = 500;

const breath = (): Promise<void> => new Promise((done) => setTimeout(done, 0));

async function fill(trace: Trace, text: string, tell: () => void): Promise<void> {
  for (let at = 0; at < text.length; at += SLICE) {
    trace.push(text.slice(at, at + SLICE));
    tell();
    await breath();
  }
}

function begin(name: string, follows: boolean): { trace: Trace; tell: () => void } {
  const trace = new Trace();
  problem.value = null;
  loaded.value = { trace, name, version: 0, follows };
  return {
    trace,
    tell: () => {
      const now = loaded.peek();
      if (now?.trace === trace) loaded.value = { ...now, version: now.version + 1 };
    },
  };
}

const isGzip = (bytes: Uint8Array): boolean => bytes[0] === 0x1f && bytes[1] === 0x8b;

async function textOf(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  if (!isGzip(bytes)) return new TextDecoder().decode(bytes);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'));
  return await new Response(stream).text();
}

export async function loadBytes(name: string, bytes: Uint8Array<ArrayBuffer>): Promise<void> {
  let text: string;
  try {
    text = await textOf(bytes);
  } catch {
    problem.value = `${name} is no whole gzip file`;
    return;
  }
  const { trace, tell } = begin(name, false);
  await fill(trace, text, tell);
  trace.finish();
  if (trace.head === null) {
    loaded.value = null;
    problem.value = `${name} is no trace: ${trace.faults[0] ?? 'it is empty'}`;
    return;
  }
  tell();
}

export const loadFile = async (file: File): Promise<void> => loadBytes(file.name, new Uint8Array(await file.arrayBuffer()));

/** What came with the page, if anything did. Called once. */
export async function loadGiven(): Promise<void> {
  const given = document.getElementById('trace');
  if (given === null || loaded.peek() !== null) return;
  const name = given.dataset['name'] ?? 'the trace';
  if (given.dataset['encoding'] === 'follow') return follow(name);
  await loadBytes(name, Uint8Array.from(atob(given.textContent?.trim() ?? ''), (c) => c.charCodeAt(0)));
}

/** Asks the page's own server for what is new, until the program ends. */
async function follow(name: string): Promise<void> {
  let { trace, tell } = begin(name, true);
  let from = 0, file: string | null = null, decoder = new TextDecoder();
  for (;;) {
    try {
      const reply = await fetch(`/trace?from=${from}`, { cache: 'no-store' });
      if (!reply.ok) throw new Error(`the server answers ${reply.status}`);
      const [start, now] = [Number(reply.headers.get('Trace-From') ?? from), reply.headers.get('Trace-File')];
      if (start !== from || (file !== null && now !== file)) {
        // Another trace was written to the file.
        ({ trace, tell } = begin(name, true));
        [from, file, decoder] = [0, now, new TextDecoder()];
        if (start !== 0) continue;
      }
      file = now;
      const bytes = new Uint8Array(await reply.arrayBuffer());
      from += bytes.length;
      if (bytes.length > 0) await fill(trace, decoder.decode(bytes, { stream: true }), tell);
      problem.value = null;
      if (bytes.length > 0 && !trace.ended) continue;
    } catch (error) {
      problem.value = `${error instanceof Error ? error.message : String(error)}; asked again`;
    }
    await new Promise((done) => setTimeout(done, POLL));
  }
}

/** Machine code of a kernel's part from the page's own server, or why there is none. */
export async function assemblyOf(kernel: number, part: number): Promise<string> {
  try {
    return await (await fetch(`/assembly/${kernel}/${part}`, { cache: 'no-store' })).text();
  } catch (error) {
    return `the server does not answer (${error instanceof Error ? error.message : String(error)})`;
  }
}
