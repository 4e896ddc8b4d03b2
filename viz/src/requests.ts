// The requests that several parts of the page ask, word for word: answers that came with the page are found by them.
import type { Request } from './engine/instance';

export const readRequest = (text: string): Request => ({ do: 'read', text });

/** The bounds that a name gets that has none. */
export const PROPOSED: readonly [number, number] = [0, 7];

interface Readable {
  readonly kind: string;
  readonly request: Request;
  readonly valid?: string;
  readonly unbound?: readonly string[];
}

/** The `view` request that draws what was read: of Views, or of an expression over its variables. */
export function viewRequest(reading: Readable): Request {
  if (reading.kind !== 'expr') return reading.request;
  const { text, vars } = reading.request as { text: string; vars?: Record<string, readonly [number, number]> };
  const bounds: Record<string, readonly [number, number]> = { ...vars };
  for (const name of reading.unbound ?? []) bounds[name] = PROPOSED;
  return { do: 'view', expr: text, valid: reading.valid ?? '1', vars: bounds };
}

export const addressesRequest = (request: Request): Request => ({ ...request, addresses: true });
export const windowRequest = (request: Request, window: readonly (readonly [number, number])[]): Request => ({ ...request, addresses: true, window });
