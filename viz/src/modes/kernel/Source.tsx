// The source for a target, a line a row; UOps, a UOp a row. Each says what it is pointed at, and lights what belongs to it.
import type { ComponentChildren } from 'preact';
import { hover, point } from '../../hover';
import { update } from '../../state';
import { Copy, Choice, Panel } from '../../ui/kit';
import { Lines } from '../../ui/Lines';
import { type KernelParts, TARGETS } from './answer';
import { coloured } from './colouring';
import type { Lit } from './links';

const least = (set: ReadonlySet<number>): number | null => (set.size === 0 ? null : Math.min(...set));

export function Source(props: { kernel: KernelParts; lit: Lit; target: string; problem: ComponentChildren }) {
  const { kernel, lit, target } = props;
  const lines = kernel.source.replace(/\n$/, '').split('\n');
  return (
    <Panel
      title="Source"
      note={`${lines.length} lines`}
      actions={
        <>
          <Choice label="Language" hideLabel value={target} options={TARGETS} onChange={(t) => update({ target: t === 'c' ? undefined : t })} />
          <Copy text={kernel.source} label="source" />
        </>
      }
    >
      {props.problem}
      <Lines
        id="source"
        label={`Source in ${TARGETS.find(([id]) => id === target)?.[1] ?? target}`}
        count={lines.length}
        look={(n) => (lit.lines.has(n) ? 'lit' : '')}
        reveal={hover.value?.from === 'source' ? null : least(lit.lines)}
        onPoint={(n) => point('source', n === null ? null : { line: n })}
        row={(n) => (
          <>
            <span class="number" aria-hidden="true">
              {n + 1}
            </span>
            {coloured(lines[n] ?? '').map((piece, i) => (piece.colour === 'plain' ? piece.text : <span key={i} class={`c-${piece.colour}`}>{piece.text}</span>))}
          </>
        )}
      />
    </Panel>
  );
}

export function UOpList(props: { kernel: KernelParts; lit: Lit }) {
  const { kernel, lit } = props;
  const depths = depthsOf(kernel);
  const uses = hover.value?.op === undefined ? [] : (kernel.ops[hover.value.op]?.srcs ?? []);
  return (
    <Panel title="UOps" note={`${kernel.ops.length}`} actions={<Copy text={kernel.uops} label="UOps" />}>
      <Lines
        id="uops"
        label="UOps"
        count={kernel.ops.length}
        look={(n) => (lit.ops.has(n) ? 'lit' : isWithin(lit, n) || uses.includes(n) ? 'body' : '')}
        reveal={hover.value?.from === 'uops' ? null : least(lit.ops)}
        onPoint={(n) => point('uops', n === null ? null : { op: n })}
        row={(n) => <UOpRow kernel={kernel} row={n} depth={depths[n] ?? 0} />}
      />
    </Panel>
  );
}

const isWithin = (lit: Lit, n: number): boolean => lit.body !== null && n >= lit.body[0] && n <= lit.body[1];

function UOpRow(props: { kernel: KernelParts; row: number; depth: number }) {
  const op = props.kernel.ops[props.row];
  if (op === undefined) return null;
  return (
    <>
      <span class="number">{props.row}</span>
      {'  '.repeat(props.depth)}
      <span class="c-word">{op.op}</span>{' '}
      <span class="c-type">{op.dtype}</span> {op.srcs.length === 0 ? '' : `[${op.srcs.join(', ')}] `}
      <span class="c-call">{(op.arg ?? '').replaceAll('dtypes.', '')}</span>
    </>
  );
}

/** How many loops are around each UOp. */
function depthsOf(kernel: KernelParts): number[] {
  const out: number[] = [];
  for (const op of kernel.ops) {
    const around = op.loop === null ? -1 : (out[op.loop] ?? 0);
    out.push(around + 1);
  }
  return out;
}
