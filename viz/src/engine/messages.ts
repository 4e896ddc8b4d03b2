// What the page and its worker say to each other.
import type { Reply, Request } from './instance';

/** The first message to the worker: the engine, as it is in the page. */
export interface Start {
  readonly engine: string;
}
export interface Question {
  readonly id: number;
  readonly request: Request;
}
export type ToWorker = Start | Question;

/** The engine is there; how long that took since the worker began. */
export interface Ready {
  readonly ready: number;
}
/** There will be no engine. */
export interface Broken {
  readonly broken: string;
}
export interface Answered extends Reply {
  readonly id: number;
}
export type FromWorker = Ready | Broken | Answered;
