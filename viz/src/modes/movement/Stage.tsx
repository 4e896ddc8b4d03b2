// The film of a chain: elements go from where they were to where an operation puts them.
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { inkOn, type Shade, theme } from '../../draw/colours';
import { moved } from '../../draw/GridView';
import { CanvasPainter, type Painter, SvgPainter } from '../../draw/painter';
import { offer } from '../../export';
import { hover, point } from '../../hover';
import { leavers, onTheWay, type Places, placesOf } from './places';

export interface StageState {
  readonly shape: readonly number[];
  readonly addresses: ArrayLike<number>;
}
export interface StageProps {
  readonly state: StageState;
  /** The state before the last operation, and which of its elements each element was. */
  readonly before: StageState | null;
  readonly from: ArrayLike<number> | null;
  readonly shade: Shade;
  readonly step: number;
}
const MILLISECONDS = 650;

export function Stage(props: StageProps) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const [width, setWidth] = useState(600);
  const [t, setT] = useState(1);
  const [cursor, setCursor] = useState<readonly number[] | null>(null);
  const at = hover.value;
  const shown = useRef(props.step);
  const forward = useRef(true);

  useEffect(() => {
    const c = canvas.current;
    if (c === null) return;
    const watch = new ResizeObserver(() => setWidth(c.clientWidth));
    watch.observe(c);
    return () => watch.disconnect();
  }, []);
  useEffect(() => {
    forward.current = props.step > shown.current;
    const moves = forward.current && props.before !== null && props.from !== null && !matchMedia('(prefers-reduced-motion: reduce)').matches;
    shown.current = props.step;
    if (!moves) return setT(1);
    const begin = performance.now();
    let frame = 0;
    const next = (now: number): void => {
      const at = Math.min(1, (now - begin) / MILLISECONDS);
      setT(at);
      if (at < 1) frame = requestAnimationFrame(next);
    };
    setT(0);
    frame = requestAnimationFrame(next);
    return () => cancelAnimationFrame(frame);
  }, [props.step, props.from === null]);

  const after = placesOf(props.state.shape, width - 4);
  const before = props.before === null ? null : placesOf(props.before.shape, width - 4);
  const height = Math.max(40, after.height, t < 1 && before !== null ? before.height : 0) + 6;
  useLayoutEffect(() => {
    const c = canvas.current, g = c?.getContext('2d');
    if (c === null || !g) return;
    const dpr = window.devicePixelRatio || 1;
    [c.width, c.height] = [Math.round(c.clientWidth * dpr), Math.round(height * dpr)];
    g.setTransform(dpr, 0, 0, dpr, 2 * dpr, 2 * dpr);
    g.clearRect(-2, -2, c.clientWidth, height);
    paint(new CanvasPainter(g), props, before, after, t, (v) => (g.globalAlpha = v));
  });
  useEffect(
    () =>
      offer('movement', {
        svg: () => {
          const p = new SvgPainter();
          paint(p, props, null, after, 1, () => undefined);
          return p.finish(after.width, after.height, theme().paper);
        },
      }),
    [props.state, width],
  );
  const onMove = (e: PointerEvent): void => {
    const box = canvas.current?.getBoundingClientRect();
    if (box === undefined || t < 1) return;
    const element = elementAt(after, props.state.addresses.length, e.clientX - box.left - 2, e.clientY - box.top - 2);
    if (element === null) return point('stage', null);
    tell(unravel(element, props.state.shape));
  };
  const tell = (coordinate: readonly number[]): void => {
    const a = props.state.addresses[elementOf(coordinate, props.state.shape)] ?? NaN;
    point('stage', { coordinate, address: Number.isNaN(a) ? null : a });
  };
  const onKeyDown = (e: KeyboardEvent): void => {
    const next = e.ctrlKey || e.metaKey || e.altKey ? null : moved(props.state.shape, cursor, e.key);
    if (next === null) return;
    setCursor(next);
    tell(next);
    e.preventDefault();
  };
  const said = at?.from === 'stage' && at.coordinate !== undefined ? `Element ${at.coordinate.join(', ')}: ${at.address === null ? 'masked' : `address ${at.address}`}.` : 'Arrow keys move through them.';
  return (
    <canvas
      ref={canvas}
      class="stage"
      tabIndex={0}
      role="img"
      aria-label={`Elements after step ${props.step}, shape ${props.state.shape.join(' by ')}. ${said}`}
      style={{ width: '100%', height: `${height}px`, display: 'block' }}
      onPointerMove={onMove}
      onPointerLeave={() => point('stage', null)}
      onKeyDown={onKeyDown}
      onBlur={() => point('stage', null)}
    />
  );
}

function elementAt(places: Places, count: number, x: number, y: number): number | null {
  for (let i = 0; i < count; ++i) {
    const [cx, cy] = places.at(i);
    if (x >= cx && x < cx + places.cell && y >= cy && y < cy + places.cell) return i;
  }
  return null;
}

/** An index as a row-major number. */
export const elementOf = (coordinate: readonly number[], shape: readonly number[]): number => coordinate.reduce((e, v, d) => e * (shape[d] ?? 1) + v, 0);

/** A row-major number as an index. */
export function unravel(element: number, shape: readonly number[]): number[] {
  const out = shape.map(() => 0);
  for (let d = shape.length - 1; d >= 0; --d) {
    const size = shape[d] ?? 1;
    out[d] = element % size;
    element = Math.floor(element / size);
  }
  return out;
}

function paint(p: Painter, props: StageProps, before: Places | null, after: Places, t: number, alpha: (v: number) => void): void {
  const { addresses } = props.state;
  const moving = t < 1 && before !== null && props.from !== null && props.before !== null;
  if (moving && props.before !== null && before !== null && props.from !== null) {
    alpha(1 - t);
    for (const element of leavers(props.before.addresses.length, props.from)) {
      const [x, y] = before.at(element);
      cell(p, props, x, y, before.cell, props.before.addresses[element] ?? NaN);
    }
    for (const m of onTheWay(before, after, props.from, t)) {
      alpha(m.opacity);
      cell(p, props, m.x, m.y, after.cell, addresses[m.element] ?? NaN);
    }
    return alpha(1);
  }
  for (let i = 0; i < addresses.length; ++i) {
    const [x, y] = after.at(i);
    cell(p, props, x, y, after.cell, addresses[i] ?? NaN, isPointed(props.state, i));
  }
}

/** Whether the element, or another one at its address in another picture, is pointed at. */
function isPointed(state: StageState, element: number): boolean {
  const at = hover.peek();
  if (at?.from === 'stage' && at.coordinate?.length === state.shape.length) return elementOf(at.coordinate, state.shape) === element;
  return typeof at?.address === 'number' && at.address === state.addresses[element];
}

function cell(p: Painter, props: StageProps, x: number, y: number, size: number, a: number, pointed = false): void {
  const t = theme();
  const masked = Number.isNaN(a);
  const fill = masked ? t.masked : props.shade.colour(a);
  p.rect(x + 1, y + 1, size - 2, size - 2, fill);
  if (pointed) p.rect(x + 2, y + 2, size - 4, size - 4, null, t.accent, 2.5);
  const text = masked ? '·' : String(a);
  const font = Math.min(13, (size * 1.4) / Math.max(2, text.length));
  if (font >= 5.5) p.text(x + size / 2, y + size / 2, text, font, masked ? t.faint : inkOn(fill));
}
