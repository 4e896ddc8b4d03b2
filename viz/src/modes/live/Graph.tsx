// A graph of nodes on a canvas: zoom, pan, pick. What is drawn is what is seen: names where they can be read, boxes or dots where not.
import { useEffect, useLayoutEffect, useMemo, useRef } from 'preact/hooks';
import { inkOn, kindColour, pixelOf, theme } from '../../draw/colours';
import { CanvasPainter, type Painter, SvgPainter } from '../../draw/painter';
import { offer } from '../../export';
import { layered } from './layered';
import { Raster } from './raster';
import type { TraceNode } from './trace';

const WIDE = 128, HIGH = 46, BOX_W = 116, BOX_H = 26;
const OVERVIEW = 0.25; // pixels a unit: below it boxes are a few pixels high

export interface GraphProps {
  readonly id: string;
  readonly label: string;
  readonly nodes: readonly TraceNode[];
  readonly colour: (node: number) => string;
  readonly picked: number | null;
  readonly onPick: (node: number | null) => void;
}

/** Milliseconds of the last draws and of the last layout: tests read them. */
export const graphTimes = { draws: [] as number[], layout: 0 };
(globalThis as { strataGraphTimes?: unknown }).strataGraphTimes = graphTimes;

const FAMILIES = ['LoadOps', 'BufferOps', 'MovementOps', 'UnaryOps', 'BinaryOps', 'TernaryOps', 'ReduceOps'];
/** The colour of an op's family. */
export const opColour = (op: string): string => kindColour(Math.max(0, FAMILIES.indexOf(op.split('.')[0] ?? '')));
export const shortOp = (op: string): string => op.slice(op.indexOf('.') + 1);

export function Graph(props: GraphProps) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const view = useRef<View | null>(null);
  const drawn = useMemo(() => {
    const begin = performance.now();
    const out = layered({ count: props.nodes.length, sources: (n) => props.nodes[n]?.src ?? [] });
    graphTimes.layout = performance.now() - begin;
    return out;
  }, [props.nodes, props.nodes.length]);

  useLayoutEffect(() => {
    if (canvas.current === null) return;
    if (view.current === null) view.current = new View(canvas.current);
    view.current.show(props, drawn);
  });
  useEffect(() => {
    const c = canvas.current;
    if (c === null) return;
    const watch = new ResizeObserver(() => view.current?.draw());
    watch.observe(c);
    return () => watch.disconnect();
  }, []);
  useEffect(() => offer(props.id, { svg: () => view.current?.svg() ?? '' }), [props.id]);
  return (
    <div class="grid">
      <canvas
        ref={canvas}
        id={props.id}
        tabIndex={0}
        role="img"
        aria-label={`${props.label}: ${props.nodes.length} nodes. ${props.picked === null ? 'Arrow keys go along its edges.' : describe(props.nodes, props.picked)}`}
        style={{ height: '460px' }}
        onKeyDown={(e) => {
          const v = view.current;
          if (v === null) return;
          if (e.key === '+' || e.key === '=') v.zoom(1.25, v.width / 2, v.height / 2);
          else if (e.key === '-') v.zoom(0.8, v.width / 2, v.height / 2);
          else if (e.key === '0') v.fit();
          else {
            const next = neighbour(props.nodes, drawn, props.picked, e.key);
            if (next === null) return;
            props.onPick(next);
            v.reveal(next);
          }
          e.preventDefault();
        }}
      />
      <button type="button" class="fit" title="Fit (0)" aria-label={`Fit ${props.label}`} onClick={() => view.current?.fit()}>
        ⤢
      </button>
    </div>
  );
}

const describe = (nodes: readonly TraceNode[], n: number): string => `Node ${n}: ${shortOp(nodes[n]?.op ?? '')}, shape ${(nodes[n]?.shape ?? []).join(' by ')}.`;

/** Up to a source, down to a user, left and right in the layer. */
function neighbour(nodes: readonly TraceNode[], drawn: ReturnType<typeof layered>, from: number | null, key: string): number | null {
  if (!key.startsWith('Arrow') || nodes.length === 0) return null;
  if (from === null) return nodes.length - 1;
  if (key === 'ArrowUp') return nodes[from]?.src?.[0] ?? from;
  if (key === 'ArrowDown') {
    const user = nodes.findIndex((n) => n.src?.includes(from) === true);
    return user < 0 ? from : user;
  }
  const layer = drawn.layers[drawn.layer[from] ?? 0] ?? [];
  return layer[layer.indexOf(from) + (key === 'ArrowLeft' ? -1 : 1)] ?? from;
}

class View {
  private scale = 1;
  private x = 0;
  private y = 0;
  private fitted = true;
  private props: GraphProps | null = null;
  private drawn: ReturnType<typeof layered> | null = null;

  constructor(private readonly canvas: HTMLCanvasElement) {
    const down = new Map<number, [number, number]>();
    let moved = 0;
    const here = (e: MouseEvent): [number, number] => {
      const box = canvas.getBoundingClientRect();
      return [e.clientX - box.left, e.clientY - box.top];
    };
    canvas.addEventListener('wheel', (e) => (e.preventDefault(), this.zoom(Math.exp(-e.deltaY * 0.002), ...here(e))), { passive: false });
    canvas.addEventListener('pointerdown', (e) => {
      canvas.setPointerCapture(e.pointerId);
      down.set(e.pointerId, here(e));
      moved = 0;
    });
    canvas.addEventListener('pointermove', (e) => {
      const before = down.get(e.pointerId), now = here(e);
      if (before === undefined) return;
      const [other] = [...down].filter(([id]) => id !== e.pointerId).map(([, at]) => at);
      if (other !== undefined) this.zoom(Math.hypot(now[0] - other[0], now[1] - other[1]) / Math.max(1, Math.hypot(before[0] - other[0], before[1] - other[1])), ...now);
      else this.pan(now[0] - before[0], now[1] - before[1]);
      moved += Math.abs(now[0] - before[0]) + Math.abs(now[1] - before[1]);
      down.set(e.pointerId, now);
    });
    canvas.addEventListener('pointerup', (e) => {
      down.delete(e.pointerId);
      if (moved < 4) this.props?.onPick(this.at(...here(e)));
    });
    canvas.addEventListener('pointercancel', (e) => down.delete(e.pointerId));
  }

  get width(): number {
    return this.canvas.clientWidth;
  }
  get height(): number {
    return this.canvas.clientHeight;
  }

  show(props: GraphProps, drawn: ReturnType<typeof layered>): void {
    if (drawn !== this.drawn && drawn.x.length !== this.drawn?.x.length) this.fitted = true;
    this.props = props;
    this.drawn = drawn;
    this.draw();
  }

  fit(): void {
    this.fitted = true;
    this.draw();
  }

  private applyFit(): void {
    if (this.drawn === null) return;
    const [w, h] = [this.drawn.width * WIDE, this.drawn.layers.length * HIGH];
    // A graph that is too large to be read whole begins at its end: what was asked for is there.
    const whole = Math.min(1, this.width / Math.max(1, w), (this.height - 8) / Math.max(1, h));
    this.scale = Math.max(whole, 0.004);
    this.x = (this.width - w * this.scale) / 2;
    this.y = Math.max(4, (this.height - h * this.scale) / 2);
  }

  zoom(factor: number, px: number, py: number): void {
    const next = Math.min(2, Math.max(0.002, this.scale * factor));
    this.x = px - ((px - this.x) * next) / this.scale;
    this.y = py - ((py - this.y) * next) / this.scale;
    this.scale = next;
    this.fitted = false;
    this.draw();
  }

  pan(dx: number, dy: number): void {
    this.x += dx;
    this.y += dy;
    this.fitted = false;
    this.draw();
  }

  reveal(n: number): void {
    const [x, y] = this.corner(n);
    if (this.scale < 0.5) this.zoom(0.8 / this.scale, x, y);
    const [left, top] = this.corner(n);
    if (left < 0 || top < 0 || left + BOX_W > this.width || top + BOX_H > this.height) this.pan(this.width / 2 - left, this.height / 2 - top);
  }

  private corner(n: number): [number, number] {
    return [this.x + (this.drawn?.x[n] ?? 0) * WIDE * this.scale, this.y + (this.drawn?.layer[n] ?? 0) * HIGH * this.scale];
  }

  at(px: number, py: number): number | null {
    const d = this.drawn;
    if (d === null) return null;
    const layer = d.layers[Math.floor((py - this.y) / (HIGH * this.scale))] ?? [];
    const x = (px - this.x) / (WIDE * this.scale);
    return layer.find((n) => x >= (d.x[n] ?? 0) && x < (d.x[n] ?? 0) + BOX_W / WIDE) ?? null;
  }

  draw(): void {
    const g = this.canvas.getContext('2d', { alpha: false });
    if (g === null || this.width === 0) return;
    const begin = performance.now();
    const dpr = window.devicePixelRatio || 1;
    const [w, h] = [Math.round(this.width * dpr), Math.round(this.height * dpr)];
    if (this.canvas.width !== w || this.canvas.height !== h) [this.canvas.width, this.canvas.height] = [w, h];
    if (this.fitted) this.applyFit();
    if (this.scale < OVERVIEW) {
      this.overview(g, w, h, dpr);
    } else {
      g.setTransform(dpr, 0, 0, dpr, 0, 0);
      g.fillStyle = theme().paper;
      g.fillRect(0, 0, this.width, this.height);
      this.edges(g);
      this.nodes(new CanvasPainter(g));
    }
    graphTimes.draws.push(performance.now() - begin);
    if (graphTimes.draws.length > 240) graphTimes.draws.shift();
  }

  svg(): string {
    const out = new SvgPainter();
    this.eachEdge((x1, y1, x2, y2, lit) => out.line(x1, y1, x2, y2, lit ? theme().accent : theme().line));
    this.nodes(out);
    return out.finish(this.width, this.height, theme().paper);
  }

  private visibleLayers(): [number, number] {
    const step = HIGH * this.scale;
    return [Math.max(0, Math.floor(-this.y / step)), Math.min(this.drawn?.layers.length ?? 0, Math.ceil((this.height - this.y) / step))];
  }

  private eachEdge(draw: (x1: number, y1: number, x2: number, y2: number, lit: boolean) => void): void {
    const { drawn: d, props, scale: s } = this;
    if (d === null || props === null) return;
    const [w, h] = [this.width, this.height];
    for (let n = 0; n < props.nodes.length; ++n) {
      const y2 = this.y + (d.layer[n] ?? 0) * HIGH * s;
      if (y2 < 0) continue;
      const x2 = this.x + ((d.x[n] ?? 0) * WIDE + BOX_W / 2) * s;
      for (const source of props.nodes[n]?.src ?? []) {
        const y1 = this.y + ((d.layer[source] ?? 0) * HIGH + BOX_H) * s;
        if (y1 > h) continue;
        const x1 = this.x + ((d.x[source] ?? 0) * WIDE + BOX_W / 2) * s;
        if ((x1 < 0 && x2 < 0) || (x1 > w && x2 > w)) continue;
        draw(x1, y1, x2, y2, n === props.picked || source === props.picked);
      }
    }
  }

  /** All of a large graph, too small to be read. */
  private overview(g: CanvasRenderingContext2D, w: number, h: number, dpr: number): void {
    const { drawn: d, props, scale: s } = this;
    if (d === null || props === null) return;
    const { paper, line, accent } = theme();
    const image = g.createImageData(w, h), raster = new Raster(image, pixelOf(paper));
    const [plain, strong] = [pixelOf(line), pixelOf(accent)];
    const lit: [number, number, number, number][] = [];
    this.eachEdge((x1, y1, x2, y2, is) => {
      if (is) lit.push([x1, y1, x2, y2]);
      else raster.line(x1 * dpr, y1 * dpr, x2 * dpr, y2 * dpr, plain);
    });
    for (const [x1, y1, x2, y2] of lit) raster.line(x1 * dpr, y1 * dpr, x2 * dpr, y2 * dpr, strong);
    const [wide, high] = [Math.max(1.5, BOX_W * s) * dpr, Math.max(1.5, BOX_H * s) * dpr];
    const [begin, end] = this.visibleLayers();
    for (let k = begin; k < end; ++k)
      for (const n of d.layers[k] ?? []) {
        const [x, y] = this.corner(n);
        if (n === props.picked) raster.rect(x * dpr - 3, y * dpr - 3, wide + 6, high + 6, strong);
        raster.rect(x * dpr, y * dpr, wide, high, pixelOf(props.colour(n)));
      }
    g.putImageData(image, 0, 0);
  }

  /** All plain edges are one path: ten thousand strokes would take longer than a frame. */
  private edges(g: CanvasRenderingContext2D): void {
    const lit: [number, number, number, number][] = [];
    g.beginPath();
    this.eachEdge((x1, y1, x2, y2, is) => {
      if (is) return void lit.push([x1, y1, x2, y2]);
      g.moveTo(x1, y1);
      g.lineTo(x2, y2);
    });
    g.strokeStyle = theme().line;
    g.lineWidth = 1;
    g.stroke();
    g.beginPath();
    for (const [x1, y1, x2, y2] of lit) {
      g.moveTo(x1, y1);
      g.lineTo(x2, y2);
    }
    g.strokeStyle = theme().accent;
    g.lineWidth = 2;
    g.stroke();
  }

  private nodes(p: Painter): void {
    const { drawn: d, props, scale: s } = this;
    if (d === null || props === null) return;
    const [begin, end] = this.visibleLayers();
    for (let k = begin; k < end; ++k)
      for (const n of d.layers[k] ?? []) {
        const [x, y] = this.corner(n);
        if (x + BOX_W * s < 0 || x > this.width) continue;
        this.node(p, props, n, x, y, s);
      }
  }

  private node(p: Painter, props: GraphProps, n: number, x: number, y: number, s: number): void {
    const fill = props.colour(n);
    const [w, h] = [Math.max(1.5, BOX_W * s), Math.max(1.5, BOX_H * s)];
    p.rect(x, y, w, h, fill);
    if (n === props.picked) p.rect(x - 1, y - 1, w + 2, h + 2, null, theme().accent, 3);
    if (s < 0.4) return;
    const node = props.nodes[n];
    const shape = node?.shape === undefined ? '' : ` ${node.shape.join('×') || '·'}`;
    const whole = shortOp(node?.op ?? '') + shape;
    const text = whole.length > 16 ? whole.slice(0, 15) + '…' : whole;
    p.text(x + w / 2, y + h / 2, text, Math.max(6, Math.round(11 * s)), inkOn(fill));
  }
}

