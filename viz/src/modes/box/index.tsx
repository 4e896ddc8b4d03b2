// The box alone: what the text is, how it looks, and all its other spellings.
import { useMemo, useState } from 'preact/hooks';
import { GridView } from '../../draw/GridView';
import { Strip, touchesOf } from '../../draw/Strip';
import { amountShade } from '../../draw/colours';
import { AskedField } from '../../draw/field';
import { useAnswer } from '../../ask';
import { read } from '../../reading';
import { Panel, Refusal, Spelling } from '../../ui/kit';
import type { ViewAnswer } from '../../answers';
import { Whereabouts } from '../../ui/Whereabouts';
import type { Mode } from '../mode';

function Page() {
  const { reading } = read.value;
  if (reading === null) return null;
  return (
    <div class="panels">
      {reading.kind === 'view' ? <Picture /> : null}
      <Panel title="Other spellings" note="each says the same">
        {reading.forms.map((form) => (
          <Spelling key={form.name} name={form.name} text={form.text} />
        ))}
      </Panel>
    </div>
  );
}

function Picture() {
  const { reading } = read.value;
  const asked = useAnswer<ViewAnswer>(reading === null ? null : { ...reading.request });
  const [version, setVersion] = useState(0);
  const view = asked.value;
  const field = useMemo(
    () => (view === null || reading === null ? null : new AskedField(view.shape as number[], reading.request, () => setVersion((v) => v + 1))),
    [view],
  );
  if (asked.error !== null) return <Refusal error={asked.error} />;
  if (view === null || field === null) return null;
  const shade = amountShade(0, Math.max(0, Number(view.real_size) - 1));
  return (
    <Panel title="Addresses" note={view.views.length === 1 ? 'one View' : `${view.views.length} Views`}>
      <GridView id="picture" label="Addresses" field={field} shade={shade} version={version} />
      <Whereabouts />
      {Number(view.size) <= 4096 ? <Memory request={reading?.request ?? {}} size={Number(view.real_size)} /> : null}
    </Panel>
  );
}

function Memory(props: { request: object; size: number }) {
  const all = useAnswer<{ addresses: number[] }>({ ...props.request, addresses: true });
  if (all.value === null) return null;
  const numbers = all.arrays[0] ?? Float64Array.from(all.value.addresses as number[]);
  const touched = touchesOf(numbers);
  return <Strip id="memory" label="Memory" touched={touched} first={0} last={Math.max(0, props.size - 1)} shade={amountShade(0, Math.max(0, props.size - 1))} />;
}

export const box: Mode = { id: 'box', title: 'Box', about: 'Any text: what it is, how it looks, how else it is written.', Page };
