// What the engine asks of the system (WASI preview 1): the clock, and where it writes its last words. There are no files, and there
// is no environment.

/** The engine called exit: it cannot go on. */
export class Exit extends Error {
  constructor(readonly code: number) {
    super(`the engine ended with status ${code}`);
  }
}

const SUCCESS = 0;
const BAD_FILE = 8;
const NOT_SUPPORTED = 58;

/** The imports of a module whose memory `memory()` gives; what it writes goes to `write`. */
export function wasiImports(memory: () => WebAssembly.Memory, write: (text: string) => void): WebAssembly.Imports {
  const view = (): DataView => new DataView(memory().buffer);
  const decoder = new TextDecoder();
  return {
    wasi_snapshot_preview1: {
      environ_sizes_get(count: number, bytes: number): number {
        view().setUint32(count, 0, true);
        view().setUint32(bytes, 0, true);
        return SUCCESS;
      },
      environ_get: (): number => SUCCESS,
      clock_time_get(_clock: number, _precision: bigint, time: number): number {
        view().setBigUint64(time, BigInt(Math.round(performance.now() * 1e6)), true);
        return SUCCESS;
      },
      fd_write(_file: number, parts: number, count: number, written: number): number {
        let text = '';
        let total = 0;
        for (let k = 0; k < count; k += 1) {
          const begin = view().getUint32(parts + 8 * k, true);
          const size = view().getUint32(parts + 8 * k + 4, true);
          text += decoder.decode(new Uint8Array(memory().buffer, begin, size));
          total += size;
        }
        view().setUint32(written, total, true);
        write(text);
        return SUCCESS;
      },
      fd_close: (): number => BAD_FILE,
      fd_seek: (): number => NOT_SUPPORTED,
      proc_exit(code: number): never {
        throw new Exit(code);
      },
    },
  };
}
