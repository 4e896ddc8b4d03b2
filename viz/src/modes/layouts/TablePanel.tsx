// All values, a row each: index, coordinate, value, thread.
import { useMemo } from 'preact/hooks';
import { point } from '../../hover';
import { Panel } from '../../ui/kit';
import { Rows } from '../../ui/Rows';
import { coordinateText, placeIn } from './drawn';
import type { Model } from './model';
import { isolate, type Look } from './Pictures';
import { pointed } from './pointed';

export function TablePanel({ model, look, at, after }: { model: Model; look: Look; at: (i: number) => number; after: ((i: number) => number) | null }) {
  const d = model.result;
  const { work } = look.paint;
  const linked = useMemo(() => [model.a !== null && model.link !== null, model.b !== null && model.link !== null], [model.a, model.b, model.link]);
  if (d === null) return null;
  const p = pointed(model);
  const head = ['index', 'coordinate', 'value', ...(after === null ? [] : ['swizzled']), 'thread', 'its value', ...(linked[0] ? ['in A'] : []), ...(linked[1] ? ['in B'] : [])];
  return (
    <Panel title="Values" note={`${d.size} rows`}>
      <Rows
        label="Values"
        head={head}
        count={Math.min(d.size, 1 << 20)}
        row={(i) => [
          i, coordinateText(d, i), at(i), ...(after === null ? [] : [after(i)]), work.thread(i), work.value(i),
          ...(linked[0] ? [model.link?.a(i) ?? '·'] : []), ...(linked[1] ? [model.link?.b(i) ?? '·'] : []),
        ]}
        lit={(i) => p?.result === i}
        onHover={(i) => point('table', i === null ? null : { coordinate: placeIn(d.sizes, i), address: at(i), thread: work.thread(i), value: work.value(i) })}
        onPick={(i) => isolate(work.thread(i), look.paint.only)}
      />
    </Panel>
  );
}
