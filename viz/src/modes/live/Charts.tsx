// Time and memory of a trace: which kernel ran when, what was held, how near kernels came to what the machine can do.
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { inkOn, kindColour, theme } from '../../draw/colours';
import { CanvasPainter, type Painter, SvgPainter } from '../../draw/painter';
import { offer } from '../../export';
import { type Held, heldBlocks, stacked } from './held';
import { heldOver, type KernelTotal, type Run, type Trace } from './trace';
import { bytesText, rateText, timeText } from './units';

interface ChartProps {
  readonly id: string;
  readonly label: string;
  readonly height: number;
  readonly paint: (p: Painter, width: number, height: number) => void;
  readonly onPoint?: (x: number, y: number, width: number, height: number) => void;
  readonly onDrag?: (by: number) => void;
  readonly onZoom?: (factor: number, at: number) => void;
}

/** A canvas that is painted anew whenever its parent is, and is saved as SVG. */
export function Chart(props: ChartProps) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const [width, setWidth] = useState(600);
  const latest = useRef(props);
  latest.current = props;
  useLayoutEffect(() => {
    const c = canvas.current, g = c?.getContext('2d');
    if (c === null || !g) return;
    const dpr = window.devicePixelRatio || 1;
    [c.width, c.height] = [Math.round(c.clientWidth * dpr), Math.round(props.height * dpr)];
    g.setTransform(dpr, 0, 0, dpr, 0, 0);
    g.clearRect(0, 0, c.clientWidth, props.height);
    props.paint(new CanvasPainter(g), c.clientWidth, props.height);
  });
  useEffect(() => {
    const c = canvas.current;
    if (c === null) return;
    const watch = new ResizeObserver(() => setWidth(c.clientWidth));
    watch.observe(c);
    let from: number | null = null;
    const onWheel = (e: WheelEvent): void => {
      if (latest.current.onZoom === undefined) return;
      e.preventDefault();
      latest.current.onZoom(Math.exp(e.deltaY * 0.002), (e.clientX - c.getBoundingClientRect().left) / c.clientWidth);
    };
    const onMove = (e: PointerEvent): void => {
      const box = c.getBoundingClientRect();
      if (from !== null) {
        latest.current.onDrag?.((e.clientX - from) / c.clientWidth);
        from = e.clientX;
      }
      latest.current.onPoint?.(e.clientX - box.left, e.clientY - box.top, c.clientWidth, latest.current.height);
    };
    const onDown = (e: PointerEvent): void => {
      from = e.clientX;
      c.setPointerCapture(e.pointerId);
    };
    const onUp = (): void => void (from = null);
    c.addEventListener('wheel', onWheel, { passive: false });
    c.addEventListener('pointermove', onMove);
    c.addEventListener('pointerdown', onDown);
    c.addEventListener('pointerup', onUp);
    return () => {
      watch.disconnect();
      c.removeEventListener('wheel', onWheel);
      c.removeEventListener('pointermove', onMove);
      c.removeEventListener('pointerdown', onDown);
      c.removeEventListener('pointerup', onUp);
    };
  }, []);
  useEffect(
    () =>
      offer(props.id, {
        svg: () => {
          const p = new SvgPainter();
          latest.current.paint(p, width, props.height);
          return p.finish(width, props.height, theme().paper);
        },
      }),
    [props.id, width],
  );
  return <canvas ref={canvas} id={props.id} role="img" aria-label={props.label} class="chart" style={{ width: '100%', height: `${props.height}px`, display: 'block' }} />;
}

// --- time ---

const ROW = 24;

export function Timeline(props: { trace: Trace; version: number; picked: number | null; onPick: (kernel: number) => void }) {
  const { trace } = props;
  const [range, setRange] = useState<[number, number] | null>(null);
  const [at, setAt] = useState<Run | null>(null);
  const [begin, end] = range ?? [0, Math.max(1, trace.last)];
  const threads = [...new Set(trace.runs.map((r) => r.thread))].sort((a, b) => a - b);
  const compile = [...trace.kernels.values()].filter((k) => k.ns > 0);
  const height = (threads.length + 1) * ROW + 26;
  const place = (t: number, width: number): number => ((t - begin) / (end - begin)) * width;
  const limit = (b: number, e: number): [number, number] => {
    const length = Math.min(trace.last, Math.max(1000, e - b));
    const first = Math.min(Math.max(0, b), Math.max(0, trace.last - length));
    return [first, first + length];
  };
  const paint = (p: Painter, width: number): void => {
    const t = theme();
    const bar = (from: number, ns: number, row: number, fill: string, text: string, lit: boolean): void => {
      const x = place(from, width), w = Math.max(1, place(from + ns, width) - x);
      if (x > width || x + w < 0) return;
      p.rect(x, row * ROW + 2, w, ROW - 4, fill, lit ? t.accent : null, 2);
      if (w > 50) p.text(Math.max(0, x) + 4, row * ROW + ROW / 2, text.slice(0, Math.floor((w - 8) / 7)), 11, inkOn(fill), 'start');
    };
    for (const k of compile) bar(k.at, k.ns, 0, t.masked === '#e9ecef' ? '#c8cfd6' : '#3a434d', `compile ${k.name}`, k.kernel === props.picked);
    for (const run of visible(trace.runs, begin, end, width)) bar(run.at, run.ns, threads.indexOf(run.thread) + 1, kindColour(run.kernel), trace.kernels.get(run.kernel)?.name ?? '', run.kernel === props.picked);
    const y = height - 12;
    for (let k = 0; k <= 4; ++k) p.text(Math.min(width - 2, Math.max(2, (k * width) / 4)), y, timeText(begin + ((end - begin) * k) / 4), 11, t.faint, k === 0 ? 'start' : k === 4 ? 'end' : 'middle');
  };
  return (
    <>
      <Chart
        id="timeline"
        label={`Timeline: ${trace.runs.length} runs of kernels on ${threads.length} threads in ${timeText(trace.last)}`}
        height={height}
        paint={paint}
        onZoom={(factor, where) => {
          const middle = begin + (end - begin) * where;
          setRange(limit(middle - (middle - begin) * factor, middle + (end - middle) * factor));
        }}
        onDrag={(by) => setRange(limit(begin - by * (end - begin), end - by * (end - begin)))}
        onPoint={(x, y, width) => {
          const time = begin + (x / width) * (end - begin), thread = threads[Math.floor(y / ROW) - 1];
          setAt(trace.runs.find((r) => r.thread === thread && r.at <= time && time < r.at + Math.max(r.ns, (end - begin) / width)) ?? null);
        }}
      />
      <p class="whereabouts">{at === null ? 'First row: compilation. Then a row a thread. Wheel and drag move through time.' : `${trace.kernels.get(at.kernel)?.name ?? ''} at ${timeText(at.at)}, ${timeText(at.ns)} on ${at.threads} ${at.threads === 1 ? 'thread' : 'threads'}`}</p>
      {range === null ? null : (
        <button type="button" onClick={() => setRange(null)}>
          All of it
        </button>
      )}
      {at === null ? null : (
        <button type="button" onClick={() => props.onPick(at.kernel)}>
          Open {trace.kernels.get(at.kernel)?.name}
        </button>
      )}
    </>
  );
}

/** Runs in a range, thinned to what a picture of this width shows. */
function visible(runs: readonly Run[], begin: number, end: number, width: number): Run[] {
  const pixel = (end - begin) / Math.max(1, width);
  const last = new Map<number, number>();
  return runs.filter((r) => {
    if (r.at + r.ns < begin || r.at > end) return false;
    if (r.ns < pixel && r.at < (last.get(r.thread) ?? -Infinity) + pixel / 2) return false;
    last.set(r.thread, r.at);
    return true;
  });
}

// --- memory ---

export function Memory(props: { trace: Trace; version: number }) {
  const { trace } = props;
  const [at, setAt] = useState<Held | null>(null);
  const placed = stacked(heldBlocks(trace));
  const over = heldOver(trace.memory);
  const peak = over.reduce((m, { held }) => Math.max(m, held), 0);
  const top = Math.max(1, peak, ...placed.map((p) => p.base + p.block.bytes));
  const span = Math.max(1, trace.last);
  const paint = (p: Painter, width: number, height: number): void => {
    const t = theme(), room = height - 24;
    const y = (bytes: number): number => 4 + room * (1 - bytes / top);
    for (const { block, base } of placed) {
      const x = (block.from / span) * width, w = Math.max(1, ((block.to - block.from) / span) * width);
      p.rect(x, y(base + block.bytes), w, Math.max(1, (room * block.bytes) / top), kindColour(block.block / 64), block === at ? t.accent : t.paper, block === at ? 2 : 0.5);
    }
    // Steps: what is held stays until it changes.
    p.path(over.flatMap(({ at: time, held }, i) => [[(time / span) * width, y(over[i - 1]?.held ?? 0)], [(time / span) * width, y(held)]] as const), t.ink, null, 1.5);
    p.text(2, height - 8, '0', 11, t.faint, 'start');
    p.text(width - 2, height - 8, timeText(span), 11, t.faint, 'end');
    p.text(2, 10, bytesText(top), 11, t.ink, 'start');
  };
  return (
    <>
      <Chart
        id="held"
        label={`Memory over time: at most ${bytesText(peak)} in ${placed.length} blocks`}
        height={240}
        paint={paint}
        onPoint={(x, y, width, height) => {
          const time = (x / width) * span, bytes = top * (1 - (y - 4) / (height - 24));
          setAt(placed.find((p) => p.block.from <= time && time <= p.block.to && p.base <= bytes && bytes < p.base + p.block.bytes)?.block ?? null);
        }}
      />
      <p class="whereabouts">{at === null ? `At most ${bytesText(peak)}, the line. Each box is a block from its allocation to its end.` : `a block of ${bytesText(at.bytes)}, held for ${timeText(at.to - at.from)}`}</p>
    </>
  );
}

// --- roofline ---

export function Roofline(props: { totals: readonly KernelTotal[]; flops: number; bandwidth: number; picked: number | null; onPick: (kernel: number) => void }) {
  const rows = props.totals.filter((r) => r.runs > 0 && r.kernel.operations > 0 && r.kernel.bytes > 0 && r.least > 0);
  const points = rows.map((r) => ({ row: r, intensity: r.kernel.operations / r.kernel.bytes, rate: (r.kernel.operations / r.least) * 1e9 }));
  const low = Math.min(0.01, ...points.map((p) => p.intensity)), high = Math.max(100, ...points.map((p) => p.intensity));
  const most = Math.max(props.flops, ...points.map((p) => p.rate)) * 1.5, least = Math.min(most / 1e4, ...points.map((p) => p.rate));
  const x = (intensity: number, width: number): number => 46 + ((Math.log(intensity) - Math.log(low)) / (Math.log(high) - Math.log(low))) * (width - 60);
  const y = (rate: number, height: number): number => 8 + (1 - (Math.log(rate) - Math.log(least)) / (Math.log(most) - Math.log(least))) * (height - 40);
  const paint = (p: Painter, width: number, height: number): void => {
    const t = theme();
    const ridge = props.flops / props.bandwidth;
    p.path([[x(low, width), y(Math.max(least, low * props.bandwidth), height)], [x(Math.min(high, Math.max(low, ridge)), width), y(Math.min(props.flops, Math.max(low, Math.min(high, ridge)) * props.bandwidth), height)], [x(high, width), y(Math.min(props.flops, high * props.bandwidth), height)]], t.ink, null, 2);
    for (const { row, intensity, rate } of points) p.circle(x(intensity, width), y(rate, height), row.kernel.kernel === props.picked ? 7 : 5, kindColour(row.kernel.kernel), row.kernel.kernel === props.picked ? t.accent : t.paper, 2);
    p.text(width / 2, height - 8, 'operations a byte', 11, t.faint);
    p.text(2, y(props.flops, height), rateText(props.flops, 'op'), 10, t.faint, 'start');
  };
  return (
    <Chart
      id="roofline"
      label={`Roofline: ${points.length} kernels`}
      height={260}
      paint={paint}
      onPoint={(px, py, width, height) => {
        const near = points.find((p) => Math.hypot(x(p.intensity, width) - px, y(p.rate, height) - py) < 8);
        if (near !== undefined && near.row.kernel.kernel !== props.picked) props.onPick(near.row.kernel.kernel);
      }}
    />
  );
}
