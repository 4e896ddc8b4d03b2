// The engine in a thread of its own, so that the page never waits for it. A classic worker: a module cannot be one from a Blob of a
// page that was opened as a file.
import { Engine, Trap, type Reply, type Request } from './instance';
import type { FromWorker, Question, ToWorker } from './messages';
import { unpack } from './unpack';

const began = performance.now();

// The page's types have no worker's scope: this is what is used of it.
const scope = globalThis as unknown as {
  onmessage: (event: MessageEvent<ToWorker>) => void;
  postMessage: (message: FromWorker, transfer?: Transferable[]) => void;
};

let module: WebAssembly.Module;
let engine: Engine;

async function start(packed: string): Promise<void> {
  module = await WebAssembly.compile(await unpack(packed));
  engine = await Engine.start(module);
  scope.postMessage({ ready: performance.now() - began });
}

async function answer(request: Request): Promise<Reply> {
  try {
    return engine.ask(request);
  } catch (error) {
    if (!(error instanceof Trap)) throw error;
    engine = await Engine.start(module);
    return { answer: { error: { kind: 'trap', message: error.message } }, arrays: [] };
  }
}

async function reply({ id, request }: Question): Promise<void> {
  const { answer: json, arrays } = await answer(request);
  scope.postMessage({ id, answer: json, arrays }, arrays.map((numbers) => numbers.buffer as ArrayBuffer));
}

// One after another: questions that come while the engine is made wait for it.
let last: Promise<void> = Promise.resolve();
scope.onmessage = ({ data }) => {
  last = last
    .then(() => ('engine' in data ? start(data.engine) : reply(data)))
    .catch((error: unknown) => scope.postMessage({ broken: error instanceof Error ? error.message : String(error) }));
};
