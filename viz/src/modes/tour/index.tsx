// Puzzles for students: each is solved in the box, and the engine says whether.
import { signal } from '@preact/signals';
import { useEffect, useState } from 'preact/hooks';
import { boxText, read } from '../../reading';
import { param, update } from '../../state';
import { Panel, Refusal } from '../../ui/kit';
import { Picture } from '../../ui/Picture';
import type { Mode } from '../mode';
import { type Puzzle, PUZZLES } from './puzzles';
import { type Verdict, verdictOf } from './verdict';

const KEPT = 'strata-tour';
const solved = signal<ReadonlySet<string>>(new Set(kept()));

function kept(): string[] {
  try {
    return (localStorage.getItem(KEPT) ?? '').split(' ').filter((id) => PUZZLES.some((p) => p.id === id));
  } catch {
    return []; // a browser that keeps nothing for pages from disk
  }
}

function remember(id: string): void {
  if (solved.peek().has(id)) return;
  solved.value = new Set(solved.peek()).add(id);
  try {
    localStorage.setItem(KEPT, [...solved.peek()].join(' '));
  } catch {
    return; // known until the page is closed
  }
}

export const begin = (puzzle: Puzzle): void => update({ mode: 'tour', puzzle: puzzle.id, q: puzzle.start });

function Page() {
  const puzzle = PUZZLES.find((p) => p.id === param('puzzle')) ?? PUZZLES[0];
  const verdict = useVerdict(puzzle);
  // Without a puzzle in the link, the box is the first one's start.
  useEffect(() => {
    if (param('puzzle') === '' && puzzle !== undefined) begin(puzzle);
  }, []);
  if (puzzle === undefined) return null;
  const next = PUZZLES[PUZZLES.indexOf(puzzle) + 1];
  const marked = verdict?.witness ?? null;
  return (
    <div class="panels">
      <Panel title="Puzzles" note={`${solved.value.size} of ${PUZZLES.length} solved`}>
        <ol class="puzzles">
          {PUZZLES.map((p) => (
            <li key={p.id}>
              <button type="button" aria-current={p.id === puzzle.id ? 'step' : undefined} onClick={() => begin(p)}>
                <span aria-hidden="true">{solved.value.has(p.id) ? '✓ ' : '   '}</span>
                {p.title}
                {solved.value.has(p.id) ? <span class="unseen"> (solved)</span> : null}
              </button>
            </li>
          ))}
        </ol>
      </Panel>
      <Panel title={puzzle.title}>
        <p class="task">{puzzle.task}</p>
        <details key={puzzle.id}>
          <summary>A hint</summary>
          <p>{puzzle.hint}</p>
        </details>
        <div class={verdict?.right === true ? 'verdict right' : 'verdict'} role="status" data-pending={verdict === null}>
          {verdict === null ? 'The engine looks at it …' : read.value.error !== null ? 'Not yet: the box cannot be read.' : verdict.error !== undefined ? <Refusal error={verdict.error} text={boxText()} /> : `${verdict.right ? '✓ ' : ''}${verdict.words}`}
        </div>
        {verdict?.right === true && next !== undefined ? (
          <button type="button" onClick={() => begin(next)}>
            Next: {next.title}
          </button>
        ) : null}
        {verdict?.right === true && next === undefined ? <p>That was the last one.</p> : null}
      </Panel>
      <Panel title="The goal" note={puzzle.rule === undefined ? 'how it looks' : 'one of the ways'}>
        <Picture id="goal" text={puzzle.goal} hides marks={marked} />
      </Panel>
      <Panel title="Yours" note="what the box says">
        <Picture id="yours" text={read.value.text} marks={marked} />
      </Panel>
    </div>
  );
}

function useVerdict(puzzle: Puzzle | undefined): Verdict | null {
  const text = boxText();
  const key = `${puzzle?.id ?? ''} ${text}`;
  const [known, setKnown] = useState<{ key: string; verdict: Verdict } | null>(null);
  useEffect(() => {
    if (puzzle === undefined) return;
    let dropped = false;
    void verdictOf(puzzle, text).then((verdict) => {
      if (dropped) return;
      setKnown({ key, verdict });
      if (verdict.right) remember(puzzle.id);
    });
    return () => {
      dropped = true;
    };
  }, [key]);
  return known?.key === key ? known.verdict : null;
}

export const tour: Mode = { id: 'tour', title: 'Tour', about: 'Twelve puzzles. Any spelling that the engine proves equal to the goal is right.', Page };
