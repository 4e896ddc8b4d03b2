// The swizzle with the fewest passes through the banks, among all that stay within the memory.
import { ask } from '../../ask';
import { numbersOf } from '../../draw/field';
import { type Accesses, type Machine, requestsOf, totalsOf } from './access';
import { period, type Swizzling, swizzled } from './swizzle';

/** Swizzles that move no address past `span` elements (rounded up to a power of two) and keep `vector` neighbours together, simplest first. */
export function candidates(span: number, vector: number): Swizzling[] {
  const most = Math.ceil(Math.log2(Math.max(1, span)));
  const out: Swizzling[] = [];
  for (let bits = 1; bits <= 6; ++bits)
    for (let base = Math.ceil(Math.log2(vector)); base + 2 * bits <= most; ++base)
      for (let shift = bits; base + bits + shift <= most; ++shift) out.push({ bits, base, shift });
  return out;
}

export async function searchSwizzle(a: Accesses, m: Machine, span: number): Promise<Swizzling | null> {
  const passes = (at: (address: number) => number): number => totalsOf(requestsOf({ ...a, at: (t, v) => at(a.at(t, v)) }, m), m).passes;
  let least = passes((address) => address);
  let best: Swizzling | null = null;
  for (const s of candidates(span, m.vector)) {
    const reply = await ask({ do: 'layout', fn: 'swizzle', args: [s.bits, s.base, s.shift] });
    const table = numbersOf(reply.answer['table'], reply.arrays, null);
    if (table === null || table.length !== period(s)) continue;
    const count = passes((address) => swizzled(table, address));
    if (count < least) [least, best] = [count, s];
  }
  return best;
}
