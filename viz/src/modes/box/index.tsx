// The box alone: what the text is, how it looks, and all its other spellings.
import { read } from '../../reading';
import { Panel, Spelling } from '../../ui/kit';
import { Picture } from '../../ui/Picture';
import { Whereabouts } from '../../ui/Whereabouts';
import type { Mode } from '../mode';

function Page() {
  const { reading, text } = read.value;
  if (reading === null) return null;
  return (
    <div class="panels">
      <Panel title="Picture">
        <Picture id="picture" text={text} />
        <Whereabouts />
      </Panel>
      <Panel title="Other spellings" note="each says the same">
        {reading.forms.map((form) => (
          <Spelling key={form.name} name={form.name} text={form.text} />
        ))}
      </Panel>
    </div>
  );
}

export const box: Mode = { id: 'box', title: 'Box', about: 'Any text: what it is, how it looks, how else it is written.', Page };
