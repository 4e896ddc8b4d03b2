// The frame: tabs, the box, the mode's page, the menu.
import { useEffect } from 'preact/hooks';
import { engineFault, engineMilliseconds, unanswered } from './ask';
import { isDark, toggleTheme } from './draw/colours';
import { MODES } from './modes/index';
import { modeShown, useReading } from './reading';
import { permalink, redo, undo, update } from './state';
import { Box } from './ui/Box';
import { Copy } from './ui/kit';
import { Exports } from './ui/Exports';

export function App() {
  useReading();
  useKeys();
  const shown = modeShown();
  const mode = MODES.find((m) => m.id === shown) ?? MODES[0];
  useEffect(() => {
    document.title = mode === undefined ? 'Strata' : `Strata: ${mode.title.toLowerCase()}`;
    showTab();
  }, [mode]);
  // Where tabs do not fit beside each other, the current one is to be seen.
  useEffect(() => document.querySelector('.top nav [aria-current]')?.scrollIntoView({ block: 'nearest', inline: 'center' }), [mode]);
  if (mode === undefined) return null;
  return (
    <>
      <a class="skip" href="#page" onClick={(e) => (e.preventDefault(), document.getElementById('page')?.focus())}>
        Skip to the picture
      </a>
      <header class="top">
        <h1>Strata</h1>
        <nav aria-label="Modes">
          {MODES.map((m, i) => (
            <button key={m.id} type="button" aria-current={m.id === mode.id ? 'page' : undefined} title={`${m.about} (Alt ${(i + 1) % 10})`} onClick={() => update({ mode: m.id })}>
              {m.title}
            </button>
          ))}
        </nav>
        <span class="tools">
          <Exports />
          <Copy text={permalink()} label="link" caption="copy link" />
          <button type="button" onClick={toggleTheme} aria-label={isDark() ? 'Light colours' : 'Dark colours'} title="Colours">
            {isDark() ? '☀' : '☾'}
          </button>
        </span>
      </header>
      <Box />
      <main id="page" tabIndex={-1} aria-label={mode.title}>
        <p class="about">{mode.about}</p>
        <mode.Page />
      </main>
      <footer>
        <EngineStatus />
      </footer>
    </>
  );
}

/** On a narrow screen the tabs are a row that scrolls. */
function showTab(): void {
  const nav = document.querySelector('.top nav'), tab = nav?.querySelector('[aria-current]');
  if (!nav || !tab) return;
  const [all, mine] = [nav.getBoundingClientRect(), tab.getBoundingClientRect()];
  if (mine.left < all.left || mine.right > all.right) nav.scrollLeft += mine.left - all.left - (all.width - mine.width) / 2;
}

function EngineStatus() {
  const milliseconds = engineMilliseconds.value, fault = engineFault.value;
  if (fault !== null) return <span data-engine="broken" class="bad" role="alert">The compiler cannot run in this browser: {fault}</span>;
  if (milliseconds === null) return <span data-engine="loading">The compiler is on its way …</span>;
  return (
    <span data-engine="ready" data-milliseconds={milliseconds} data-pending={unanswered.value > 0}>
      The compiler itself answers, in this page (ready in {Math.round(milliseconds)} ms).
    </span>
  );
}

function useKeys(): void {
  useEffect(() => {
    const onKey = (e: KeyboardEvent): void => {
      const typing = e.target instanceof HTMLElement && e.target.matches('input[type=text], textarea');
      // By the key's place: with Alt, some keyboards give another character than the digit.
      const digit = /^Digit([0-9])$/.exec(e.code)?.[1];
      if (e.altKey && !e.ctrlKey && digit !== undefined) {
        const mode = MODES[(Number(digit) + 9) % 10];
        if (mode !== undefined) update({ mode: mode.id });
      } else if ((e.ctrlKey || e.metaKey) && e.key.toLowerCase() === 'z' && !typing) {
        if (e.shiftKey) redo();
        else undo();
      } else if (e.key === '/' && !typing) {
        document.getElementById('box')?.focus();
      } else return;
      e.preventDefault();
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, []);
}
