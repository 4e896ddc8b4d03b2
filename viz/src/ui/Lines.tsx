// A long list of lines of one height: those that are seen are in the page. Arrow keys move a cursor; what is lit elsewhere comes
// into view.
import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';

interface LinesProps {
  readonly id: string;
  readonly label: string;
  readonly count: number;
  readonly row: (n: number) => ComponentChildren;
  readonly look?: (n: number) => string;
  /** What a row says to those who hear it; without it, its text. */
  readonly speak?: (n: number) => string;
  readonly onPoint?: (n: number | null) => void;
  readonly onPick?: (n: number) => void;
  /** The row that has to be seen. */
  readonly reveal?: number | null;
  readonly most?: number;
  readonly height?: number;
}

const MORE = 6; // rows beyond the edges

export function Lines(props: LinesProps) {
  const { id, count, height = 20, most = 460 } = props;
  const frame = useRef<HTMLDivElement>(null);
  const [top, setTop] = useState(0);
  const [cursor, setCursor] = useState<number | null>(null);
  const seen = Math.min(most, Math.max(1, count) * height);
  const begin = Math.max(0, Math.floor(top / height) - MORE);
  const end = Math.min(count, Math.ceil((top + seen) / height) + MORE);

  const show = (n: number): void => {
    const f = frame.current;
    if (f === null) return;
    if (n * height < f.scrollTop) f.scrollTop = Math.max(0, (n - 2) * height);
    else if ((n + 1) * height > f.scrollTop + f.clientHeight) f.scrollTop = (n + 3) * height - f.clientHeight;
  };
  useEffect(() => {
    if (props.reveal !== null && props.reveal !== undefined) show(props.reveal);
  }, [props.reveal]);
  useEffect(() => {
    if (cursor !== null && cursor >= count) setCursor(null);
  }, [count]);

  const move = (to: number): void => {
    const n = Math.max(0, Math.min(count - 1, to));
    setCursor(n);
    show(n);
    props.onPoint?.(n);
  };
  const onKeyDown = (e: KeyboardEvent): void => {
    const page = Math.floor(seen / height) - 1;
    const to: Record<string, number> = {
      ArrowDown: (cursor ?? -1) + 1, ArrowUp: (cursor ?? 0) - 1, PageDown: (cursor ?? 0) + page, PageUp: (cursor ?? 0) - page, Home: 0, End: count - 1,
    };
    const next = to[e.key];
    if (next !== undefined && count > 0) move(next);
    else if (e.key === 'Enter' && cursor !== null) props.onPick?.(cursor);
    else return;
    e.preventDefault();
  };
  return (
    <div
      class="lines"
      id={id}
      ref={frame}
      tabIndex={0}
      role="listbox"
      aria-label={props.label}
      aria-activedescendant={cursor === null ? undefined : `${id}-${cursor}`}
      style={{ height: `${seen + 2}px` }}
      onScroll={(e) => setTop(e.currentTarget.scrollTop)}
      onKeyDown={onKeyDown}
      onPointerLeave={() => props.onPoint?.(null)}
      onBlur={() => props.onPoint?.(null)}
    >
      <div role="presentation" class="inside" style={{ height: `${count * height}px`, paddingTop: `${begin * height}px` }}>
        {Array.from({ length: Math.max(0, end - begin) }, (_, i) => begin + i).map((n) => (
          <div
            key={n}
            id={`${id}-${n}`}
            role="option"
            aria-selected={n === cursor}
            aria-posinset={n + 1}
            aria-setsize={count}
            aria-label={props.speak?.(n)}
            class={`row ${props.look?.(n) ?? ''}${n === cursor ? ' cursor' : ''}`}
            style={{ height: `${height}px`, lineHeight: `${height}px` }}
            onPointerEnter={() => props.onPoint?.(n)}
            onClick={() => props.onPick?.(n)}
          >
            {props.row(n)}
          </div>
        ))}
      </div>
    </div>
  );
}
