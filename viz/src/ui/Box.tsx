// The one box: a text, what is wrong with it under a caret, and examples.
import { useEffect, useRef } from 'preact/hooks';
import { boxText, read, setBoxText } from '../reading';
import { EXAMPLES } from '../examples';
import { canRedo, canUndo, redo, state, undo, update } from '../state';
import { Refusal } from './kit';

const WHAT = { view: 'a stack of Views', layout: 'a layout', expr: 'an index expression', kernel: 'a kernel' } as const;

export function Box() {
  const text = boxText();
  const { error, reading, pending } = read.value;
  const area = useRef<HTMLTextAreaElement>(null);
  useEffect(() => {
    const a = area.current;
    if (a === null) return;
    a.style.height = 'auto';
    a.style.height = `${Math.min(a.scrollHeight + 2, 260)}px`;
  }, [text]);
  const said = error !== null ? 'this cannot be read' : reading !== null && !pending ? WHAT[reading.kind] : ' ';
  return (
    <div class="box">
      <div class="line">
        <label for="box">Text</label>
        <textarea
          id="box"
          ref={area}
          rows={1}
          value={text}
          spellcheck={false}
          autocomplete="off"
          autocapitalize="off"
          aria-invalid={error !== null}
          aria-describedby={error !== null ? 'box-error' : 'box-kind'}
          onInput={(e) => setBoxText(e.currentTarget.value, 'box')}
        />
        <span class="buttons">
          <button type="button" disabled={!canUndo.value} onClick={undo} aria-label="Undo" title="Undo (Ctrl Z outside of a text)">
            ↶
          </button>
          <button type="button" disabled={!canRedo.value} onClick={redo} aria-label="Redo" title="Redo (Ctrl Shift Z)">
            ↷
          </button>
        </span>
      </div>
      <div class="under">
        <span id="box-kind" class="kind" role="status">
          {said}
        </span>
        <label for="examples" class="unseen">
          Examples
        </label>
        <select
          id="examples"
          value=""
          onChange={(e) => {
            const example = EXAMPLES[Number(e.currentTarget.value)];
            // What was chosen for another text goes: an example looks the same to everybody.
            const others = Object.fromEntries(Object.keys(state.peek()).map((name) => [name, undefined]));
            if (example !== undefined) update({ ...others, ...example.extra, q: example.text, mode: example.mode });
            e.currentTarget.value = '';
          }}
        >
          <option value="" disabled>
            examples…
          </option>
          {EXAMPLES.map((example, i) => (
            <option key={i} value={i}>
              {example.title}
            </option>
          ))}
        </select>
      </div>
      {error === null ? null : <Refusal error={error} text={text} id="box-error" />}
    </div>
  );
}
