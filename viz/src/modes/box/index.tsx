// The box alone: what the text is, how it looks, and all its other spellings.
import { useAnswer } from '../../ask';
import type { ViewAnswer } from '../../answers';
import { FIRST_TEXT } from '../../first-text';
import { read } from '../../reading';
import { viewRequest } from '../../requests';
import { ridx } from '../../values';
import { Elsewhere } from '../../ui/Elsewhere';
import { Panel, Spelling } from '../../ui/kit';
import { Picture } from '../../ui/Picture';
import { Whereabouts } from '../../ui/Whereabouts';
import type { Mode } from '../mode';

function Page() {
  const { reading, text } = read.value;
  const shown = useAnswer<ViewAnswer>(reading === null || reading.kind === 'kernel' || reading.kind === 'layout' ? null : viewRequest(reading));
  if (reading === null) return <Elsewhere wants="any text that the compiler reads" example={FIRST_TEXT} />;
  const bounds = Object.entries((viewRequest(reading) as { vars?: Record<string, readonly [number, number]> }).vars ?? {});
  const isExpr = reading.kind === 'expr';
  const formula = shown.value === null ? null : { text: shown.value.idx, names: isExpr ? bounds.map(([name]) => name) : ridx(shown.value.shape.length), least: isExpr ? bounds.map(([, [least]]) => least) : [] };
  return (
    <div class="panels">
      <Panel title="Picture">
        <Picture id="picture" text={text} />
        <Whereabouts formula={formula} />
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
