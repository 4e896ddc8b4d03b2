// Each load and store: its index, when it is made, and how it was shown to stay inside of its buffer.
import { hover, point } from '../../hover';
import { update } from '../../state';
import { Panel } from '../../ui/kit';
import { Lines } from '../../ui/Lines';
import { boxTextOf } from './access';
import { type Access, type KernelBuffer, type KernelParts, variablesOf } from './answer';
import type { Lit } from './links';

const HOW = { bounds: 'by bounds', algebra: 'by algebra' } as const;

export function Accesses(props: { kernel: KernelParts; buffers: readonly KernelBuffer[]; lit: Lit }) {
  const { kernel, lit } = props;
  const nameOf = (a: Access): string => (a.buffer === null ? 'scratch' : (props.buffers[a.buffer]?.name ?? `data${a.buffer}`));
  const isLit = (a: Access): boolean => a.ops.some((op) => lit.ops.has(op));
  const first = kernel.accesses.findIndex(isLit);
  const { proof } = kernel;
  const longest = Math.min(64, Math.max(...kernel.accesses.map((a) => a.index.length)) + 2);
  return (
    <Panel wide title="Accesses" note={`${proof.accesses} shown to stay inside: ${proof.by_bounds} by their bounds, ${proof.by_algebra} by algebra. A click shows the addresses of one.`}>
      <Lines
        id="accesses"
        label="Accesses. Enter shows the addresses of one"
        count={kernel.accesses.length}
        most={260}
        reveal={hover.value?.from === 'accesses' || first < 0 ? null : first}
        look={(n) => (isLit(kernel.accesses[n] as Access) ? 'access lit' : 'access')}
        onPoint={(n) => {
          const op = n === null ? null : (kernel.accesses[n]?.op ?? null);
          point('accesses', op === null ? null : { op });
        }}
        onPick={(n) => update({ mode: 'expression', q: boxTextOf(kernel, kernel.accesses[n] as Access, variablesOf(kernel)), opts: undefined, target: undefined })}
        row={(n) => <Row width={longest} access={kernel.accesses[n] as Access} name={nameOf(kernel.accesses[n] as Access)} />}
      />
    </Panel>
  );
}

function Row({ access: a, name, width }: { access: Access; name: string; width: number }) {
  const range = a.min === null || a.max === null ? 'bounds unknown' : `${a.min}..${a.max}`;
  return (
    <>
      <span class="number">{a.op ?? ''}</span>
      <span class="cell kindof">
        {a.kind === 'store' ? '→' : '←'} {a.kind} {name}
      </span>
      <span class="cell" style={{ minWidth: `${width}ch` }}>[{a.index}]</span>
      <span class="cell when">{a.valid === '1' ? 'always' : `where ${a.valid}`}</span>
      <span class="cell range">
        {range} of {String(a.size)}
      </span>
      <span class={`cell by c-${a.by === 'algebra' ? 'word' : 'call'}`}>{HOW[a.by]}</span>
    </>
  );
}
