// A plan of memory over its schedule: from which item to which a block holds a result.
import type { TensorGraph } from './trace';

export interface Life {
  readonly node: number;
  readonly block: number;
  /** The item that writes it first, the one that reads it last. */
  readonly from: number;
  readonly to: number;
}

export function livesOf(graph: TensorGraph): Life[] {
  const block = new Map(graph.plan?.nodes), out = new Map<number, { node: number; block: number; from: number; to: number }>();
  graph.schedule.forEach((item, k) => {
    for (const n of item.outputs) {
      const at = block.get(n), known = out.get(n);
      if (known !== undefined) known.to = k;
      else if (at !== undefined) out.set(n, { node: n, block: at, from: k, to: k });
    }
    for (const n of item.inputs) {
      const life = out.get(n);
      if (life !== undefined) life.to = k;
    }
  });
  return [...out.values()];
}
