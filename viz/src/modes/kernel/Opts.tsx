// A kernel's Opts: those that it has, to be taken away; those that it could get, to be added; and the list as a text.
import { useState } from 'preact/hooks';
import { type Failure, type Request, useAnswer } from '../../ask';
import { update } from '../../state';
import { Field, Panel, Refusal } from '../../ui/kit';
import { type Candidate, kernelRequest, optsAsked } from './answer';
import { ABOUT_OPTS, kindOf, optsOf, restOf, stemOf, textOfOpts, without, withMore } from './lists';

const choose = (opts: string, merge: string | null = null): void => update({ opts: opts === 'auto' ? undefined : opts }, merge);

/** `chosen` are the Opts of the kernel that is shown; `error` is of the list, not of the text. */
export function Opts(props: { text: Request; chosen: readonly string[]; error: Failure | null }) {
  const asked = optsAsked();
  const opts = optsOf(asked, props.chosen);
  const menu = useAnswer<{ candidates: Candidate[] }>({ ...kernelRequest(props.text), show: 'candidates' });
  return (
    <Panel
      title="Opts"
      note={asked === 'auto' ? 'chosen by the compiler' : 'by hand'}
      actions={
        <>
          <button type="button" aria-pressed={asked === 'auto'} onClick={() => choose('auto')}>
            auto
          </button>
          <button type="button" aria-pressed={asked === 'none'} onClick={() => choose('none')}>
            none
          </button>
        </>
      }
    >
      <ul class="chips" aria-label="Opts of this kernel">
        {opts.map((opt, i) => (
          <li key={`${i} ${opt}`} title={ABOUT_OPTS[kindOf(opt)] ?? ''}>
            <code>{opt}</code>
            <button type="button" aria-label={`Take away ${opt}`} onClick={() => choose(without(opts, i))}>
              ×
            </button>
          </li>
        ))}
        {opts.length === 0 ? <li class="faint">none: plain loops</li> : null}
      </ul>
      <Field label="list" width="100%" value={asked === 'auto' ? textOfOpts(opts) : asked} onChange={(text) => choose(text, 'opts')} />
      {props.error === null ? null : <Refusal error={props.error} text={asked} />}
      {props.error === null && menu.error !== null ? <Refusal error={menu.error} /> : null}
      <Menu candidates={menu.value?.candidates ?? []} dim={menu.pending} onAdd={(opt) => choose(withMore(opts, opt))} />
    </Panel>
  );
}

function Menu(props: { candidates: readonly Candidate[]; dim: boolean; onAdd: (opt: string) => void }) {
  const [said, setSaid] = useState<Candidate | null>(null);
  const groups = new Map<string, Candidate[]>();
  for (const c of props.candidates) groups.set(stemOf(c.opt), [...(groups.get(stemOf(c.opt)) ?? []), c]);
  const now = said === null ? undefined : props.candidates.find((c) => c.opt === said.opt);
  return (
    <div class={props.dim ? 'menu dim' : 'menu'}>
      <p class="reason" id="opt-reason" role="status">
        {now === undefined ? 'More that could be added. Grey ones are refused: point at one to see why.' : now.legal ? `${now.opt}: ${ABOUT_OPTS[kindOf(now.opt)] ?? ''}` : (now.reason ?? `${now.opt} is refused`)}
      </p>
      <div class="groups">
        {[...groups].map(([stem, list]) => (
          <div class="group" role="group" aria-label={stem} key={stem}>
            <span class="stem">{stem}</span>
            {list.map((c) => (
              <button
                key={c.opt}
                type="button"
                aria-label={c.legal ? `Add ${c.opt}` : `${c.opt} is refused`}
                aria-disabled={!c.legal}
                aria-describedby={c.legal ? undefined : 'opt-reason'}
                title={c.legal ? '' : (c.reason ?? '')}
                onPointerEnter={() => setSaid(c)}
                onFocus={() => setSaid(c)}
                onClick={() => (c.legal ? props.onAdd(c.opt) : setSaid(c))}
              >
                {restOf(c.opt, stem)}
              </button>
            ))}
          </div>
        ))}
      </div>
    </div>
  );
}
