// An access as a text of the box: its index over the loops' counters, with their bounds.
import type { Size } from '../../answers';
import type { Access, KernelParts, Variables } from './answer';
import { tripCountOf } from './tree';

const WRITTEN = /^[a-z]+_a(\d+)s(\d+)p(\d+)$/;

/** How many values a name has that an index holds; null where it is none of the kernel's. */
function sizeOfName(kernel: KernelParts, name: string): Size | null {
  const loop = kernel.ops.findIndex((op) => op.counter === name);
  if (loop >= 0) return tripCountOf(kernel, loop, kernel.loops.find((a) => a.counters.some((c) => c.op === loop)) ?? null);
  const [, axis, segment, part] = WRITTEN.exec(name) ?? [];
  return kernel.loops[Number(axis)]?.segments[Number(segment)]?.parts[Number(part)]?.size ?? null;
}

/** `ridx0: 0..7; ridx0*64`; variables of the text keep their bounds. */
export function boxTextOf(kernel: KernelParts, access: Access, vars: Variables): string {
  const out: string[] = [];
  const names = new Set((access.index + ' ' + access.valid).match(/[A-Za-z_]\w*/g) ?? []);
  const wanted = new Set<string>();
  for (const name of names) {
    const size = sizeOfName(kernel, name);
    if (size === null) {
      if (name in vars) wanted.add(name);
      continue;
    }
    const tripCount = Number(size);
    out.push(`${name}: 0..${Number.isFinite(tripCount) ? tripCount - 1 : last(String(size), vars)}`);
  }
  const bounds = [...wanted].map((name) => `${name}: ${vars[name]?.[0]}..${vars[name]?.[1]}`);
  return [...bounds, ...out, access.index, ...(access.valid === '1' ? [] : [`valid ${access.valid}`])].join('; ');
}

/** The last iteration that a symbolic loop can have: each of its variables at its greatest value, in a sum as sizes are. */
function last(size: string, vars: Variables): number {
  const terms = size.replace(/[()\s]/g, '').split('+');
  return terms.reduce((sum, term) => sum + term.split('*').reduce((p, f) => p * (vars[f]?.[1] ?? Number(f)), 1), 0) - 1;
}
