// The rate of misses over the run, as a plot that leads to a place in it.
import { useEffect, useLayoutEffect, useMemo, useRef } from 'preact/hooks';
import { theme } from '../../draw/colours';
import { CanvasPainter, type Painter, SvgPainter } from '../../draw/painter';
import { offer } from '../../export';
import { missRates } from './cache';

const HEIGHT = 90, LEFT = 34, TOP = 6, BOTTOM = 16;

export function Plot(props: { outcome: Uint8Array; at: number; onSeek: (at: number) => void }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const { outcome, at } = props;
  const rates = useMemo(() => missRates(outcome, 160), [outcome]);
  const total = useMemo(() => outcome.reduce((n, o) => n + (o === 0 ? 0 : 1), 0) / Math.max(1, outcome.length), [outcome]);
  useLayoutEffect(() => {
    const c = canvas.current, g = c?.getContext('2d');
    if (c === null || !g) return;
    const dpr = window.devicePixelRatio || 1;
    [c.width, c.height] = [Math.round(c.clientWidth * dpr), Math.round(HEIGHT * dpr)];
    g.setTransform(dpr, 0, 0, dpr, 0, 0);
    paint(new CanvasPainter(g), c.clientWidth, rates, at / Math.max(1, outcome.length));
  });
  useEffect(
    () =>
      offer('misses', {
        svg: () => {
          const p = new SvgPainter();
          paint(p, 480, rates, null);
          return p.finish(480, HEIGHT, theme().paper);
        },
        json: () => ({ rate: total, bins: [...rates] }),
      }),
    [rates],
  );
  const seek = (e: PointerEvent): void => {
    const box = canvas.current?.getBoundingClientRect();
    if (box === undefined || e.buttons === 0) return;
    props.onSeek(Math.round(Math.min(1, Math.max(0, (e.clientX - box.left - LEFT) / (box.width - LEFT))) * outcome.length));
  };
  return (
    <div class="plot">
      <canvas ref={canvas} role="img" aria-label={`Rate of misses over the run; ${(100 * total).toFixed(1)} percent in all`} onPointerDown={seek} onPointerMove={seek} />
    </div>
  );
}

function paint(p: Painter, width: number, rates: Float64Array, at: number | null): void {
  const t = theme();
  const high = HEIGHT - TOP - BOTTOM;
  const y = (rate: number): number => TOP + high * (1 - rate);
  p.rect(0, 0, width, HEIGHT, t.paper);
  for (const rate of [0, 0.5, 1]) {
    p.line(LEFT, y(rate), width, y(rate), t.line, 1);
    p.text(LEFT - 5, y(rate), `${100 * rate}%`, 10, t.faint, 'end');
  }
  const step = (width - LEFT) / rates.length;
  const points: [number, number][] = [];
  rates.forEach((rate, i) => points.push([LEFT + i * step, y(rate)], [LEFT + (i + 1) * step, y(rate)]));
  p.path([[LEFT, y(0)], ...points, [width, y(0)]], null, t.masked);
  p.path(points, t.ink, null, 1.5);
  p.text(LEFT, HEIGHT - 6, 'begin', 10, t.faint, 'start');
  p.text(width, HEIGHT - 6, 'end', 10, t.faint, 'end');
  if (at === null) return;
  const x = LEFT + at * (width - LEFT);
  p.line(x, 0, x, HEIGHT - BOTTOM, t.accent, 2);
}
