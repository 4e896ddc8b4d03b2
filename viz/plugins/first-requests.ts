// What the page asks before anything was typed.
import type { Request } from '../src/engine/instance';


export function firstRequests(): Request[] {
  return [];
}
