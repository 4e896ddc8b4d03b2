// A directed graph in layers: each node below all of its sources, near to what it is joined with. Linear in nodes and edges but for sorting,
// so that ten thousand nodes are laid out while one looks.
export interface Edges {
  readonly count: number;
  sources(node: number): readonly number[];
}

export interface Layered {
  /** By node. */
  readonly x: Float64Array;
  readonly layer: Int32Array;
  /** Nodes of each layer from left to right. */
  readonly layers: readonly (readonly number[])[];
  /** The width of all of it, in nodes. */
  readonly width: number;
}

const SWEEPS = 4;

/** @param graph sources of a node have smaller numbers; others are no edges */
export function layered(graph: Edges): Layered {
  const { count } = graph;
  const sources = Array.from({ length: count }, (_, n) => graph.sources(n).filter((s) => s >= 0 && s < n));
  const users: number[][] = Array.from({ length: count }, () => []);
  sources.forEach((list, n) => list.forEach((s) => users[s]?.push(n)));
  const layer = layersOf(sources, users);
  const layers: number[][] = [];
  for (let n = 0; n < count; ++n) (layers[layer[n] ?? 0] ??= []).push(n);
  const x = new Float64Array(count);
  layers.forEach((nodes) => nodes.forEach((n, i) => (x[n] = i)));
  for (let sweep = 0; sweep < SWEEPS; ++sweep) {
    for (let k = 1; k < layers.length; ++k) order(layers[k] ?? [], sources, x);
    for (let k = layers.length - 2; k >= 0; --k) order(layers[k] ?? [], users, x);
  }
  for (let sweep = 0; sweep < SWEEPS; ++sweep) {
    for (let k = 1; k < layers.length; ++k) spread(layers[k] ?? [], sources, x);
    for (let k = layers.length - 2; k >= 0; --k) spread(layers[k] ?? [], users, x);
  }
  let least = Infinity, most = -Infinity;
  for (const v of x) [least, most] = [Math.min(least, v), Math.max(most, v)];
  if (count > 0) for (let n = 0; n < count; ++n) x[n] = (x[n] ?? 0) - least;
  return { x, layer, layers, width: count === 0 ? 0 : most - least + 1 };
}

/** The longest way from what has no sources; what has none stands just above its first user. */
function layersOf(sources: readonly (readonly number[])[], users: readonly (readonly number[])[]): Int32Array {
  const out = new Int32Array(sources.length);
  sources.forEach((list, n) => {
    for (const s of list) out[n] = Math.max(out[n] ?? 0, (out[s] ?? 0) + 1);
  });
  for (let n = sources.length - 1; n >= 0; --n) {
    const its = users[n] ?? [];
    if ((sources[n]?.length ?? 0) > 0 || its.length === 0) continue;
    let first = Infinity;
    for (const u of its) first = Math.min(first, out[u] ?? 0);
    out[n] = Math.max(0, first - 1);
  }
  return out;
}

function mean(nodes: readonly number[], x: Float64Array, otherwise: number): number {
  if (nodes.length === 0) return otherwise;
  let sum = 0;
  for (const n of nodes) sum += x[n] ?? 0;
  return sum / nodes.length;
}

/** Sorts a layer by where its nodes' neighbours are. */
function order(layer: number[], neighbours: readonly (readonly number[])[], x: Float64Array): void {
  const wish = new Map(layer.map((n) => [n, mean(neighbours[n] ?? [], x, x[n] ?? 0)]));
  layer.sort((a, b) => (wish.get(a) ?? 0) - (wish.get(b) ?? 0) || a - b);
  layer.forEach((n, i) => (x[n] = i));
}

/** Moves a layer's nodes to where their neighbours are, at least 1 apart, in their order. */
function spread(layer: readonly number[], neighbours: readonly (readonly number[])[], x: Float64Array): void {
  const wish = layer.map((n) => mean(neighbours[n] ?? [], x, x[n] ?? 0));
  // Runs that would overlap become one, at the mean of what they wish: each is wished once, merged at most once.
  const runs: { begin: number; count: number; sum: number }[] = [];
  wish.forEach((w, i) => {
    let run = { begin: i, count: 1, sum: w };
    for (let before = runs.at(-1); before !== undefined && start(before) + before.count > start(run); before = runs.at(-1)) {
      runs.pop();
      run = { begin: before.begin, count: before.count + run.count, sum: before.sum + run.sum - before.count * run.count };
    }
    runs.push(run);
  });
  for (const run of runs) for (let i = 0; i < run.count; ++i) x[layer[run.begin + i] ?? 0] = start(run) + i;
}

/** Where a run begins that is as near as possible to its nodes' wishes: `sum` is of wishes less places in the run. */
const start = (run: { count: number; sum: number }): number => run.sum / run.count;
