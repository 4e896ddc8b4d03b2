// The engine: requests in, answers out, long lists of numbers beside them.
import { wasiImports } from './wasi';

export type Numbers = Float64Array | Int32Array;
export type Request = Readonly<Record<string, unknown>>;
export interface Failure {
  readonly kind: string;
  readonly message: string;
  readonly column?: number;
}
export interface Reply {
  readonly answer: Record<string, unknown> & { readonly error?: Failure };
  /** What the answer mentions as {"memory": index, "count": n}: copies, NaN where there is no number. */
  readonly arrays: readonly Numbers[];
}

/** The engine stopped in the middle of a request. This instance of it answers no more. */
export class Trap extends Error {
  constructor(cause: unknown) {
    super(`the engine stopped: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
    this.name = 'Trap';
  }
}

interface Exports {
  readonly memory: WebAssembly.Memory;
  readonly _initialize: () => void;
  readonly malloc: (size: number) => number;
  readonly free: (pointer: number) => void;
  readonly ask: (request: number, size: number) => number;
}

// The layout of `Result` and `List` in viz/engine.cpp.
const WORD = 4;
const LIST_WORDS = 3;
const DOUBLES = 0;

/** The first whole number of a JSON text that a double cannot hold: a wrong number is never shown. */
export function firstRounded(json: string): string | null {
  if (!/\d{16}/.test(json)) return null;
  const numbers = json.replace(/"(?:[^"\\]|\\.)*"/g, '""').match(/-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?/g) ?? [];
  return numbers.find((n) => /^-?\d{16,}$/.test(n) && BigInt(n) !== BigInt(Number(n))) ?? null;
}

export class Engine {
  private trap: Trap | null = null;
  private readonly encoder = new TextEncoder();
  private readonly decoder = new TextDecoder();

  private constructor(private readonly engine: Exports) {}

  static async load(bytes: BufferSource): Promise<Engine> {
    return Engine.start(await WebAssembly.compile(bytes));
  }

  /** A new instance of what was compiled before. */
  static async start(module: WebAssembly.Module): Promise<Engine> {
    const memory = (): WebAssembly.Memory => engine.memory;
    const imports = wasiImports(memory, (text) => console.error(text));
    const engine = (await WebAssembly.instantiate(module, imports)).exports as unknown as Exports;
    engine._initialize();
    return new Engine(engine);
  }

  /** @throws Trap, then and ever after, when the engine stops. */
  ask(request: Request): Reply {
    const { json, arrays } = this.askText(JSON.stringify(request));
    const rounded = firstRounded(json);
    if (rounded !== null) return { answer: { error: { kind: 'page', message: `[page] the answer has the number ${rounded}, which the page cannot hold exactly: it is beyond 2^53` } }, arrays: [] };
    return { answer: JSON.parse(json) as Reply['answer'], arrays };
  }

  /** The same of a line as it stands, whatever it holds; the answer is the line that `strata batch` prints. */
  askText(line: string | Uint8Array): { json: string; arrays: Numbers[] } {
    if (this.trap !== null) throw this.trap;
    try {
      return this.call(typeof line === 'string' ? this.encoder.encode(line) : line);
    } catch (error) {
      this.trap = new Trap(error);
      throw this.trap;
    }
  }

  private call(line: Uint8Array): { json: string; arrays: Numbers[] } {
    const { malloc, free, ask, memory } = this.engine;
    const request = malloc(line.length + 1) >>> 0;
    if (request === 0) throw new RangeError('the request does not fit in memory');
    new Uint8Array(memory.buffer).set(line, request);
    const result = ask(request, line.length) >>> 0;
    free(request);
    const words = new DataView(memory.buffer);
    const word = (at: number): number => words.getUint32(at, true);
    const json = this.decoder.decode(new Uint8Array(memory.buffer, word(result), word(result + WORD)));
    const first = word(result + 3 * WORD);
    const arrays = Array.from({ length: word(result + 2 * WORD) }, (_, k) => {
      const list = first + k * LIST_WORDS * WORD;
      const [kind, numbers, count] = [word(list), word(list + WORD), word(list + 2 * WORD)];
      // The memory may move or go at the next request, and is not the page's to keep: a copy.
      return kind === DOUBLES ? new Float64Array(memory.buffer, numbers, count).slice() : new Int32Array(memory.buffer, numbers, count).slice();
    });
    return { json, arrays };
  }
}
