// A grid on the page: wheel, drag, pinch and keys move it, hovering is told to all other pictures.
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { hover, point } from '../hover';
import { type Offer, offer } from '../export';
import { type Shade, theme } from './colours';
import { addressAt, type Field, placeOf, sizeOf } from './field';
import { Grid, type Look, type Spot } from './grid';

export interface GridProps {
  /** Names the picture to other pictures and in exports: one a page. */
  readonly id: string;
  readonly field: Field;
  readonly shade: Shade;
  readonly label: string;
  readonly names?: readonly string[];
  /** What the first element of each dimension is called, 0 where nothing is said. */
  readonly firsts?: readonly number[];
  readonly text?: (address: number) => string;
  readonly most?: number;
  /** Counts up when the field has more to show. */
  readonly version?: number;
  readonly outline?: Look['outline'];
  /** What else is told of a hovered element. */
  readonly tell?: (spot: Spot) => object;
  readonly onPick?: (spot: Spot) => void;
  /** Whether what is hovered in other pictures is looked for by address alone. */
  readonly byAddress?: boolean;
  /** What is to be seen instead of what is hovered: for a field whose indices or addresses are not those of other pictures. */
  readonly focus?: { readonly coordinate: readonly number[] | null; readonly address: number | null };
  readonly group?: Look['group'];
  /** What the picture can be saved as beside SVG. */
  readonly offers?: Omit<Offer, 'svg'>;
}

export function GridView(props: GridProps) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const grid = useRef<Grid | null>(null);
  const frame = useRef<HTMLDivElement>(null);
  const [height, setHeight] = useState(64);
  const [cursor, setCursor] = useState<readonly number[] | null>(null);
  const { id, field, most = 420 } = props;
  const at = hover.value;
  const look: Look = {
    shade: props.shade,
    theme: theme(),
    text: props.text ?? String,
    names: props.names ?? [],
    firsts: props.firsts ?? [],
    address: props.focus !== undefined ? props.focus.address : (at?.address ?? null),
    coordinate: props.focus !== undefined ? props.focus.coordinate : props.byAddress === true && at?.from !== id ? null : (at?.coordinate ?? null),
    ...(props.group === undefined ? {} : { group: props.group }),
    ...(props.outline === undefined ? {} : { outline: props.outline }),
  };

  useLayoutEffect(() => {
    if (canvas.current === null) return;
    if (grid.current === null) grid.current = new Grid(canvas.current, field, look);
    grid.current.set(field, look);
    const wanted = grid.current.wantedHeight(canvas.current.clientWidth, most);
    if (wanted !== height) setHeight(wanted);
  });
  useEffect(() => {
    if (frame.current === null) return;
    const watch = new ResizeObserver(() => {
      grid.current?.draw();
      if (grid.current !== null && canvas.current !== null) setHeight(grid.current.wantedHeight(canvas.current.clientWidth, most));
    });
    watch.observe(frame.current);
    return () => watch.disconnect();
  }, [most]);
  useEffect(() => offer(id, { svg: () => grid.current?.svg() ?? '', ...props.offers }), [id, props.offers]);
  const pointed = useRef<Spot | null>(null);
  const pointAt = (spot: Spot | null): void => {
    pointed.current = spot;
    tell(props, spot);
  };
  usePointer(canvas, grid, pointAt, props.onPick);
  useEffect(() => {
    // The element may have been pointed at before the engine had answered with its address.
    const spot = pointed.current;
    if (spot === null || spot.address !== undefined || hover.value?.from !== id) return;
    if (spot.coordinate.length !== field.shape.length || !spot.coordinate.every((at, d) => at < (field.shape[d] ?? 0))) return;
    const address = addressAt(field, ...placeOf(field.shape, spot.coordinate));
    if (address !== undefined) pointAt({ ...spot, address });
  }, [field, props.version]);

  const onKeyDown = (e: KeyboardEvent): void => {
    const g = grid.current;
    if (g === null || e.ctrlKey || e.metaKey || e.altKey) return;
    if (e.key === '+' || e.key === '=') g.zoom(1.25, g.width / 2, g.height / 2);
    else if (e.key === '-') g.zoom(0.8, g.width / 2, g.height / 2);
    else if (e.key === '0') g.fit();
    else {
      const next = moved(field.shape, cursor, e.key);
      if (next === null) return;
      setCursor(next);
      g.reveal(next);
      const spot = g.at(...center(g, next));
      if (spot !== null) pointAt(spot);
    }
    e.preventDefault();
  };

  return (
    <div class="grid" ref={frame}>
      <canvas
        ref={canvas}
        id={id}
        tabIndex={0}
        role="img"
        aria-label={`${props.label}. ${describe(at?.from === id ? at : null)}`}
        style={{ height: `${height}px` }}
        onKeyDown={onKeyDown}
        onBlur={() => point(id, null)}
      />
      <button type="button" class="fit" title="Fit (0)" aria-label={`Fit ${props.label}`} onClick={() => grid.current?.fit()}>
        ⤢
      </button>
    </div>
  );
}

function tell(props: GridProps, spot: Spot | null): void {
  if (spot === null) return point(props.id, null);
  const address = spot.address === undefined ? {} : { address: spot.address };
  point(props.id, { coordinate: spot.coordinate, ...address, ...props.tell?.(spot) });
}

const center = (g: Grid, coordinate: readonly number[]): [number, number] => {
  const [x, y] = g.corner(coordinate);
  return [x + g.scale / 2, y + g.scale / 2];
};

const describe = (at: { coordinate?: readonly number[]; address?: number | null } | null): string =>
  at?.coordinate === undefined
    ? 'Arrow keys move through it.'
    : `Element ${at.coordinate.join(', ')}: ${at.address === null ? 'masked' : `address ${at.address ?? 'unknown'}`}.`;

/** The index that an arrow key leads to; Page Up and Page Down go through the dimension before rows, Home to the first element. */
export function moved(shape: readonly number[], from: readonly number[] | null, key: string): number[] | null {
  const rank = shape.length;
  const steps: Record<string, [number, number]> = {
    ArrowLeft: [rank - 1, -1], ArrowRight: [rank - 1, 1], ArrowUp: [rank - 2, -1], ArrowDown: [rank - 2, 1],
    PageUp: [rank - 3, -1], PageDown: [rank - 3, 1],
  };
  if (key === 'Home' && sizeOf(shape) > 0) return shape.map(() => 0);
  const step = steps[key];
  if (step === undefined || sizeOf(shape) === 0) return null;
  if (from === null || from.length !== rank) return shape.map(() => 0);
  const [d, by] = step;
  return from.map((v, i) => (i === d ? Math.min((shape[d] ?? 1) - 1, Math.max(0, v + by)) : v));
}

function usePointer(
  canvas: { current: HTMLCanvasElement | null },
  grid: { current: Grid | null },
  say: (spot: Spot | null) => void,
  pick: ((spot: Spot) => void) | undefined,
): void {
  const handlers = useRef({ say, pick });
  handlers.current = { say, pick };
  useEffect(() => {
    const c = canvas.current;
    if (c === null) return;
    const down = new Map<number, [number, number]>();
    let dragged = 0;
    const here = (e: MouseEvent): [number, number] => {
      const box = c.getBoundingClientRect();
      return [e.clientX - box.left, e.clientY - box.top];
    };
    const onWheel = (e: WheelEvent): void => {
      const g = grid.current;
      // A picture that is seen whole leaves the wheel to the page.
      if (g === null || (g.isWhole && !e.ctrlKey && document.activeElement !== c)) return;
      e.preventDefault();
      g.zoom(Math.exp(-e.deltaY * (e.ctrlKey ? 0.01 : 0.002)), ...here(e));
    };
    const onMove = (e: PointerEvent): void => {
      const g = grid.current;
      if (g === null) return;
      const now = here(e);
      const before = down.get(e.pointerId);
      if (before === undefined) return handlers.current.say(g.at(...now));
      if (down.size === 2) pinch(g, down, e.pointerId, now);
      else g.pan(now[0] - before[0], now[1] - before[1]);
      dragged += Math.abs(now[0] - before[0]) + Math.abs(now[1] - before[1]);
      down.set(e.pointerId, now);
    };
    const onDown = (e: PointerEvent): void => {
      down.set(e.pointerId, here(e));
      dragged = 0;
      if (!grid.current?.isWhole || down.size > 1) c.setPointerCapture(e.pointerId);
      handlers.current.say(grid.current?.at(...here(e)) ?? null);
    };
    const onUp = (e: PointerEvent): void => {
      down.delete(e.pointerId);
      const spot = grid.current?.at(...here(e)) ?? null;
      if (dragged < 4 && spot !== null) handlers.current.pick?.(spot);
    };
    const onLeave = (e: PointerEvent): void => {
      if (!c.hasPointerCapture(e.pointerId)) down.delete(e.pointerId);
      handlers.current.say(null);
    };
    c.addEventListener('wheel', onWheel, { passive: false });
    c.addEventListener('pointermove', onMove);
    c.addEventListener('pointerdown', onDown);
    c.addEventListener('pointerup', onUp);
    c.addEventListener('pointercancel', onUp);
    c.addEventListener('pointerleave', onLeave);
    return () => {
      c.removeEventListener('wheel', onWheel);
      c.removeEventListener('pointermove', onMove);
      c.removeEventListener('pointerdown', onDown);
      c.removeEventListener('pointerup', onUp);
      c.removeEventListener('pointercancel', onUp);
      c.removeEventListener('pointerleave', onLeave);
    };
  }, []);
}

function pinch(g: Grid, down: ReadonlyMap<number, [number, number]>, id: number, now: [number, number]): void {
  const before = down.get(id);
  const other = [...down].find(([key]) => key !== id)?.[1];
  if (before === undefined || other === undefined) return;
  const apart = (p: [number, number]): number => Math.hypot(p[0] - other[0], p[1] - other[1]);
  g.zoom(apart(now) / Math.max(1, apart(before)), (now[0] + other[0]) / 2, (now[1] + other[1]) / 2);
}
