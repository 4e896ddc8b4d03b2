// What the page asks before anything was typed: its first text, and what its picture needs.
import type { Engine, Request } from '../src/engine/instance';
import { FIRST_TEXT } from '../src/first-text';
import { addressesRequest, readRequest, viewRequest, windowRequest } from '../src/requests';

export function firstRequests(engine: Engine): Request[] {
  const read = readRequest(FIRST_TEXT);
  const reading = engine.ask(read).answer as unknown as Parameters<typeof viewRequest>[0];
  const view = viewRequest(reading);
  const { shape } = engine.ask(view).answer as unknown as { shape: readonly number[] };
  return [read, view, addressesRequest(view), windowRequest(view, shape.map((n): [number, number] => [0, n]))];
}
