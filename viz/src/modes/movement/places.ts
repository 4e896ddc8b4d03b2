// Where the elements of a box stand when all of it is drawn: rows and columns, panels for the dimensions before them.
export interface Places {
  readonly width: number;
  readonly height: number;
  readonly cell: number;
  /** The corner of an element, by its row-major number. */
  at(element: number): readonly [number, number];
}

export function placesOf(shape: readonly number[], width: number): Places {
  const cols = shape.at(-1) ?? 1;
  const rows = shape.length < 2 ? 1 : (shape.at(-2) ?? 1);
  const panels = shape.slice(0, -2).reduce((a, b) => a * b, 1);
  const across = shape.length > 3 ? (shape.at(-3) ?? 1) : Math.min(panels, Math.max(1, Math.floor((width / 34 + 1) / (cols + 1))));
  const cell = Math.max(6, Math.min(36, width / (across * (cols + 1) - 1)));
  return {
    cell,
    width: (across * (cols + 1) - 1) * cell,
    height: (Math.ceil(panels / across) * (rows + 1) - 1) * cell,
    at(element) {
      const col = element % cols, row = Math.floor(element / cols) % rows, panel = Math.floor(element / (rows * cols));
      return [((panel % across) * (cols + 1) + col) * cell, (Math.floor(panel / across) * (rows + 1) + row) * cell];
    },
  };
}

export interface Moving {
  readonly element: number;
  readonly x: number;
  readonly y: number;
  /** 1: there; less: on its way in or out. */
  readonly opacity: number;
}

/**
 * Elements on their way from one box to the next. `from` says for each element of the next box which one of the box before it is, NaN where
 * it is new; `t` is in [0, 1].
 */
export function onTheWay(before: Places, after: Places, from: ArrayLike<number>, t: number): Moving[] {
  const ease = t * t * (3 - 2 * t);
  const out: Moving[] = [];
  for (let i = 0; i < from.length; ++i) {
    const [x1, y1] = after.at(i);
    const source = from[i] ?? NaN;
    if (Number.isNaN(source)) out.push({ element: i, x: x1, y: y1, opacity: ease });
    else {
      const [x0, y0] = before.at(source);
      out.push({ element: i, x: x0 + (x1 - x0) * ease, y: y0 + (y1 - y0) * ease, opacity: 1 });
    }
  }
  return out;
}

/** Elements of the box before that the next one has no more. */
export function leavers(count: number, from: ArrayLike<number>): number[] {
  const kept = new Set(Array.from(from));
  return Array.from({ length: count }, (_, i) => i).filter((i) => !kept.has(i));
}
