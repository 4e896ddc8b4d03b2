// A table of any number of rows: those that are seen are on the page.
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';

const HEIGHT = 26;

export interface RowsProps {
  readonly label: string;
  readonly head: readonly string[];
  readonly count: number;
  /** The cells of a row. */
  readonly row: (i: number) => readonly ComponentChildren[];
  /** How many rows are seen at once, at most. */
  readonly most?: number;
  readonly lit?: (i: number) => boolean;
  readonly onHover?: (i: number | null) => void;
  readonly onPick?: (i: number) => void;
}

export function Rows(props: RowsProps) {
  const { count, most = 12 } = props;
  const [top, setTop] = useState(0);
  const begin = Math.max(0, Math.min(Math.floor(top / HEIGHT) - 4, count - most - 8)), end = Math.min(count, begin + most + 9);
  const blank = (n: number) => (n > 0 ? <tr aria-hidden="true" style={{ height: `${n * HEIGHT}px` }} /> : null);
  return (
    <div class="rows" tabIndex={0} role="region" aria-label={props.label} style={{ maxHeight: `${(most + 1) * HEIGHT + 4}px` }} onScroll={(e) => setTop(e.currentTarget.scrollTop)} onPointerLeave={() => props.onHover?.(null)}>
      <table aria-rowcount={count + 1}>
        <thead>
          <tr>
            {props.head.map((h) => (
              <th key={h} scope="col">
                {h}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {blank(begin)}
          {Array.from({ length: Math.max(0, end - begin) }, (_, k) => begin + k).map((i) => (
            <tr key={i} aria-rowindex={i + 2} class={props.lit?.(i) === true ? 'lit' : ''} onPointerEnter={() => props.onHover?.(i)} onClick={() => props.onPick?.(i)}>
              {props.row(i).map((cell, k) => (
                <td key={k}>{cell}</td>
              ))}
            </tr>
          ))}
          {blank(count - end)}
        </tbody>
      </table>
    </div>
  );
}
