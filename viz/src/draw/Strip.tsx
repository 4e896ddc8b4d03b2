// Memory as a strip: addresses that are touched, gaps between them, lines (of a cache) below. A long strip shows the part
// around what is hovered or scrolled to.
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { offer } from '../export';
import { hover, point } from '../hover';
import { inkOn, type Shade, theme } from './colours';
import { CanvasPainter, type Painter, SvgPainter } from './painter';

export interface StripProps {
  readonly id: string;
  readonly label: string;
  /** How often an address is touched; NaN where that is not known. `size`: how many addresses are touched, where that is known. */
  readonly touched: { get(address: number): number | undefined; readonly size?: number };
  readonly first: number;
  readonly last: number;
  readonly shade: Shade;
  readonly text?: (address: number) => string;
  /** Elements of a cache line, 0 for none. */
  readonly line?: number;
}
const CELL = 34;
const HEIGHT = 58;

export function Strip(props: StripProps) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const [begin, setBegin] = useState(props.first);
  const [width, setWidth] = useState(0);
  const { id, first, last } = props;
  const count = Math.max(1, Math.floor(width / CELL));
  const start = Math.max(first, Math.min(begin, last - count + 1));
  const at = hover.value;
  const seen = useMemo(() => ({ start, count }), [start, count]);

  useEffect(() => {
    const address = at?.from === id ? null : at?.address;
    if (address === null || address === undefined) return;
    if (address < start || address >= start + count) setBegin(Math.floor(address - count / 2));
  }, [at?.address]);
  useLayoutEffect(() => {
    const c = canvas.current, g = c?.getContext('2d');
    if (c === null || !g) return;
    const dpr = window.devicePixelRatio || 1;
    [c.width, c.height] = [Math.round(c.clientWidth * dpr), Math.round(HEIGHT * dpr)];
    g.setTransform(dpr, 0, 0, dpr, 0, 0);
    g.clearRect(0, 0, c.clientWidth, HEIGHT);
    paint(new CanvasPainter(g), props, seen.start, seen.count, at?.address ?? null);
  });
  useEffect(() => {
    const c = canvas.current;
    if (c === null) return;
    setWidth(c.clientWidth);
    const watch = new ResizeObserver(() => setWidth(c.clientWidth));
    watch.observe(c);
    return () => watch.disconnect();
  }, []);
  useEffect(
    () =>
      offer(id, {
        svg: () => {
          const p = new SvgPainter();
          paint(p, props, seen.start, seen.count, null);
          return p.finish(seen.count * CELL, HEIGHT, theme().paper);
        },
      }),
    [id, seen, props.touched],
  );

  const addressAt = (e: MouseEvent): number | null => {
    const box = canvas.current?.getBoundingClientRect();
    if (box === undefined) return null;
    const a = start + Math.floor((e.clientX - box.left) / CELL);
    return a >= first && a <= last ? a : null;
  };
  const step = (by: number): void => setBegin(Math.max(first, Math.min(last - count + 1, start + by)));
  return (
    <div class="strip">
      <canvas
        ref={canvas}
        id={id}
        tabIndex={0}
        role="img"
        aria-label={`${props.label}: addresses ${first} to ${last}${props.touched.size === undefined ? '' : `, ${props.touched.size} touched`}`}
        style={{ height: `${HEIGHT}px` }}
        onPointerMove={(e) => {
          const a = addressAt(e);
          point(id, a === null ? null : { address: a });
        }}
        onPointerLeave={() => point(id, null)}
        onKeyDown={(e) => {
          if (e.key === 'ArrowLeft') step(-1);
          else if (e.key === 'ArrowRight') step(1);
          else if (e.key === 'PageUp') step(-count);
          else if (e.key === 'PageDown') step(count);
          else return;
          e.preventDefault();
        }}
      />
      {last - first + 1 > count ? (
        <input
          type="range"
          min={first}
          max={Math.max(first, last - count + 1)}
          value={start}
          aria-label={`${props.label}: first address shown`}
          onInput={(e) => setBegin(Number(e.currentTarget.value))}
        />
      ) : null}
    </div>
  );
}

function paint(p: Painter, props: StripProps, begin: number, count: number, marked: number | null): void {
  const t = theme();
  const line = props.line ?? 0;
  for (let i = 0; i < count && begin + i <= props.last; ++i) {
    const a = begin + i, x = i * CELL;
    const times = props.touched.get(a) ?? 0;
    const fill = times > 0 ? props.shade.colour(a) : null;
    p.rect(x + 1.5, 4.5, CELL - 3, 28, fill, fill === null ? t.line : null);
    const text = props.text?.(a) ?? String(a);
    p.text(x + CELL / 2, 19, text, Math.min(12, 46 / Math.max(2, text.length)), fill === null ? t.faint : inkOn(fill));
    if (Number.isNaN(times)) p.text(x + CELL / 2, 42, '×?', 10, t.faint);
    if (times > 1) p.text(x + CELL / 2, 42, `×${times}`, 10, t.faint);
    if (a === marked) p.rect(x + 2, 5, CELL - 4, 27, null, t.accent, 3);
    if (line > 0 && a % line === 0) {
      p.line(x + 0.5, 0, x + 0.5, HEIGHT, t.faint, 1);
      p.text(x + 4, 51, `line ${Math.floor(a / line)}`, 10, t.faint, 'start');
    }
  }
}

/** How often each address is there. */
export function touchesOf(addresses: ArrayLike<number>): Map<number, number> {
  const out = new Map<number, number>();
  for (let i = 0; i < addresses.length; ++i) {
    const a = addresses[i] ?? NaN;
    if (Number.isFinite(a)) out.set(a, (out.get(a) ?? 0) + 1);
  }
  return out;
}
