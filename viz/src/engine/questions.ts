// The page's side of the worker: questions out, answers back, and a new worker where one does not answer.
import type { Reply, Request } from './instance';
import type { FromWorker, ToWorker } from './messages';

/** A worker, or what stands in for one. */
export interface Port {
  onmessage: ((event: MessageEvent<FromWorker>) => void) | null;
  onerror: ((event: ErrorEvent) => void) | null;
  postMessage(message: ToWorker): void;
  terminate(): void;
}

interface Waiting {
  readonly request: Request;
  readonly resolve: (reply: Reply) => void;
}

const failure = (kind: string, message: string): Reply => ({ answer: { error: { kind, message } }, arrays: [] });

export class Client {
  /** Milliseconds from the worker's start to the engine being there. Rejected where there will be none. */
  readonly ready: Promise<number>;
  private isReady: (milliseconds: number) => void = () => undefined;
  private isBroken: (error: Error) => void = () => undefined;
  private readonly waiting = new Map<number, Waiting>();
  private port: Port | null = null;
  private next = 0;
  private clock: ReturnType<typeof setTimeout> | undefined;
  private broken: string | null = null;
  private isThere = false;

  /** `open` makes a worker, which is sent `engine`; an answer that takes longer than `patience` milliseconds is given up. */
  constructor(
    private readonly open: () => Port,
    private readonly engine: string,
    private readonly patience = 10_000,
  ) {
    this.ready = new Promise((resolve, reject) => {
      this.isReady = resolve;
      this.isBroken = reject;
    });
    this.ready.catch(() => undefined);
    this.start();
  }

  /** The answer; one of kind "trap", "timeout" or "engine" where there is none. Never rejected. */
  ask(request: Request): Promise<Reply> {
    if (this.broken !== null) return Promise.resolve(failure('engine', this.broken));
    return new Promise((resolve) => {
      const id = this.next;
      this.next += 1;
      this.waiting.set(id, { request, resolve });
      this.port?.postMessage({ id, request });
      if (this.waiting.size === 1) this.watch();
    });
  }

  /** A place for one answer: only what was asked last is answered, what it replaced is null. */
  slot(): (request: Request) => Promise<Reply | null> {
    let newest = 0;
    return async (request) => {
      newest += 1;
      const mine = newest;
      const reply = await this.ask(request);
      return mine === newest ? reply : null;
    };
  }

  private start(): void {
    this.isThere = false;
    try {
      this.run(this.open());
    } catch (error) {
      this.fail(error instanceof Error ? error.message : String(error));
    }
  }

  private run(port: Port): void {
    port.onmessage = ({ data }) => this.take(data);
    port.onerror = (event) => this.fail(event.message);
    port.postMessage({ engine: this.engine });
    this.port = port;
    for (const [id, { request }] of this.waiting) port.postMessage({ id, request });
    this.watch();
  }

  private take(message: FromWorker): void {
    if ('broken' in message) return this.fail(message.broken);
    if ('ready' in message) {
      this.isThere = true;
      this.isReady(message.ready);
    } else {
      this.settle(message.id, { answer: message.answer, arrays: message.arrays });
    }
    this.watch();
  }

  private settle(id: number, reply: Reply): void {
    const waiting = this.waiting.get(id);
    this.waiting.delete(id);
    waiting?.resolve(reply);
  }

  /** Waits for the oldest question, from now on: those behind it are not what takes the time. */
  private watch(): void {
    clearTimeout(this.clock);
    const [oldest] = this.waiting.keys();
    if (oldest === undefined || !this.isThere) return;
    this.clock = setTimeout(() => this.giveUp(oldest), this.patience);
  }

  private giveUp(id: number): void {
    this.port?.terminate();
    this.settle(id, failure('timeout', `[engine] no answer within ${this.patience / 1000} s`));
    this.start();
  }

  private fail(message: string): void {
    this.broken = `[engine] ${message}`;
    this.port?.terminate();
    clearTimeout(this.clock);
    this.isBroken(new Error(this.broken));
    for (const id of [...this.waiting.keys()]) this.settle(id, failure('engine', this.broken));
  }
}
