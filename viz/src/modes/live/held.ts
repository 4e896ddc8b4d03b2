// Memory of a trace: which block is held from when to when, and where it is drawn.
import type { Trace } from './trace';

export interface Held {
  readonly block: number;
  readonly bytes: number;
  readonly from: number;
  readonly to: number;
}

/** Blocks with the time that they are held. */
export function heldBlocks(trace: Trace): Held[] {
  const open = new Map<number, { at: number; bytes: number }>();
  const out: Held[] = [];
  for (const { at, block, bytes } of trace.memory) {
    const begun = open.get(block);
    if (bytes >= 0) open.set(block, { at, bytes });
    else if (begun !== undefined) {
      out.push({ block, bytes: begun.bytes, from: begun.at, to: at });
      open.delete(block);
    }
  }
  for (const [block, { at, bytes }] of open) out.push({ block, bytes, from: at, to: trace.last });
  return out;
}

/** Where each block is drawn: one above the other, the lowest place that is free while it is held. */
export function stacked(blocks: readonly Held[]): { readonly block: Held; readonly base: number }[] {
  const placed: { block: Held; base: number }[] = [];
  let active: { block: Held; base: number }[] = [];
  for (const block of [...blocks].sort((a, b) => a.from - b.from || b.bytes - a.bytes)) {
    active = active.filter((p) => p.block.to > block.from).sort((a, b) => a.base - b.base);
    let base = 0;
    for (const p of active) {
      if (p.base - base >= block.bytes) break;
      base = Math.max(base, p.base + p.block.bytes);
    }
    const one = { block, base };
    placed.push(one);
    active.push(one);
  }
  return placed;
}
