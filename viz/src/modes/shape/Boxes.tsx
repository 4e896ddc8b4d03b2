// The boxes of one View: a row a dimension, an offset, and what can be done with all of them.
import { useEffect, useState } from 'preact/hooks';
import { setBoxText } from '../../reading';
import { param, update } from '../../state';
import { Choice, Field } from '../../ui/kit';
import { type Boxes, isInteger, moved, problemOf, rowMajor, textOf, tidy, unmasked, withDim, withMask, withOffset, withoutDim, withSize, withStride } from './view';

interface CellProps {
  readonly label: string;
  readonly value: string;
  readonly symbolic: boolean;
  readonly least?: number;
  readonly shown?: boolean;
  readonly onChange: (value: string) => void;
}

/** A value. What is typed and is none stays in its field, with a word, and changes nothing. */
function Cell(props: CellProps) {
  const [typed, setTyped] = useState<string | null>(null);
  useEffect(() => setTyped(null), [props.value]);
  const take = (text: string): void => {
    const problem = problemOf(text, props.symbolic, props.least);
    setTyped(problem === null ? null : text);
    if (problem === null) props.onChange(tidy(text));
  };
  const value = typed ?? props.value;
  return (
    <span
      onKeyDown={(e) => {
        const by = e.key === 'ArrowUp' ? 1 : e.key === 'ArrowDown' ? -1 : 0;
        if (by === 0 || !isInteger(value)) return;
        e.preventDefault();
        const next = Number(value) + by;
        if (next >= (props.least ?? -Infinity)) take(String(next));
      }}
    >
      <Field label={props.label} hideLabel={props.shown !== true} width={`${Math.max(8, value.length + 3)}ch`} numeric={!props.symbolic} value={value} error={typed === null ? null : problemOf(typed, props.symbolic, props.least)} onChange={take} />
    </span>
  );
}

export const isInclusive = (): boolean => param('ends') === 'inclusive';

/** A mask's end as the original tool has it: the last element that is valid. */
const shownEnd = (end: string): string => (isInclusive() && isInteger(end) ? String(Number(end) - 1) : end);
const endOf = (shown: string): string => (isInclusive() && isInteger(shown) ? String(Number(shown) + 1) : shown);

export function ViewBoxes({ boxes }: { boxes: Boxes }) {
  const symbolic = boxes.head.trim() !== '';
  const write = (next: Boxes, merge: string | null = null): void => setBoxText(textOf(next), merge);
  return (
    <>
      <table class="dims">
        <thead>
          <tr>
            <th scope="col">dim</th>
            <th scope="col">size</th>
            <th scope="col">stride</th>
            <th scope="col">mask from</th>
            <th scope="col">{isInclusive() ? 'mask through' : 'mask to'}</th>
            <td />
          </tr>
        </thead>
        <tbody>
          {boxes.dims.map((dim, d) => (
            <tr key={d}>
              <th scope="row">{d}</th>
              <td>
                <Cell label={`Size of dimension ${d}`} value={dim.size} symbolic={symbolic} least={0} onChange={(v) => write(withSize(boxes, d, v), `size ${d}`)} />
              </td>
              <td>
                <Cell label={`Stride of dimension ${d}`} value={dim.stride} symbolic={symbolic} onChange={(v) => write(withStride(boxes, d, v), `stride ${d}`)} />
              </td>
              <td>
                <Cell label={`Mask begin of dimension ${d}`} value={dim.begin} symbolic={symbolic} least={0} onChange={(v) => write(withMask(boxes, d, { begin: v }), `begin ${d}`)} />
              </td>
              <td>
                <Cell label={`Mask end of dimension ${d}`} value={shownEnd(dim.end)} symbolic={symbolic} least={isInclusive() ? -1 : 0} onChange={(v) => write(withMask(boxes, d, { end: endOf(v) }), `end ${d}`)} />
              </td>
              <td class="row-buttons">
                <button type="button" disabled={d === 0} aria-label={`Move dimension ${d} outwards`} title="outwards" onClick={() => write(moved(boxes, d, -1))}>
                  ↑
                </button>
                <button type="button" disabled={d === boxes.dims.length - 1} aria-label={`Move dimension ${d} inwards`} title="inwards" onClick={() => write(moved(boxes, d, 1))}>
                  ↓
                </button>
                <button type="button" aria-label={`Remove dimension ${d}`} title="remove" onClick={() => write(withoutDim(boxes, d))}>
                  ✕
                </button>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      <div class="fields">
        <Cell label="Offset" shown value={boxes.offset} symbolic={symbolic} onChange={(v) => write(withOffset(boxes, v), 'offset')} />
        <Choice label="Mask ends" value={isInclusive() ? 'inclusive' : 'open'} options={[['open', 'half-open'], ['inclusive', 'inclusive']]} onChange={(v) => update({ ends: v === 'open' ? undefined : v })} />
      </div>
      <div class="fields buttons-row">
        <button type="button" onClick={() => write(withDim(boxes, 'outside'))}>
          Add outside
        </button>
        <button type="button" onClick={() => write(withDim(boxes, 'inside'))}>
          Add inside
        </button>
        <button type="button" disabled={symbolic} onClick={() => write(rowMajor(boxes))}>
          Row-major strides
        </button>
        <button type="button" disabled={boxes.dims.length < 2} onClick={() => write({ ...boxes, dims: [...boxes.dims].reverse() })}>
          Transpose
        </button>
        <button type="button" disabled={!boxes.masked} onClick={() => write(unmasked(boxes))}>
          No mask
        </button>
      </div>
    </>
  );
}
