// The strip of loops: those around the access of now, outermost first, with their iterations; what is written out, vectors and threads
// among them.
import { hover, point } from '../../hover';
import type { KernelParts } from '../kernel/answer';
import { kindMark } from '../kernel/kinds';
import { ABOUT_KINDS, flat, treeOf } from '../kernel/tree';

/** `around` are the LOOPs around the access, by their rows; `iteration` says which iteration of one it is. */
export function Nest(props: { kernel: KernelParts; around: ReadonlySet<number>; iteration: (loop: number) => number | null }) {
  return (
    <ul class="nest" aria-label="Loops">
      {flat(treeOf(props.kernel)).map(({ node }, i) => {
        const isOn = node.op === null || props.around.has(node.op);
        const iteration = node.isLoop && node.op !== null && isOn ? props.iteration(node.op) : null;
        return (
          <li
            key={i}
            class={`${isOn ? 'on' : ''}${node.isLoop ? '' : ' written'}${node.op !== null && hover.value?.loop === node.op ? ' lit' : ''}`}
            title={ABOUT_KINDS[node.kind] ?? ''}
            onPointerEnter={() => (node.op === null ? undefined : point('nest', { loop: node.op }))}
            onPointerLeave={() => point('nest', null)}
          >
            <span class="head">
              <span class="mark" style={{ background: kindMark(node.kind) }} aria-hidden="true" />
              {node.kind} {node.axis === null ? '' : `axis ${node.axis}`}
            </span>
            <span class="head">
              {iteration === null ? `${node.size}× ${node.name}` : `${node.name}=${iteration} of ${node.size}`}
            </span>
            {node.isLoop ? <progress aria-label={`${node.name}: iteration`} max={Math.max(1, (Number(node.size) || 1) - 1)} value={iteration ?? 0} /> : null}
          </li>
        );
      })}
    </ul>
  );
}
