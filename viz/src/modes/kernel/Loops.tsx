// The tree of loops. A loop that is pointed at lights its UOps and lines.
import { useEffect } from 'preact/hooks';
import { theme } from '../../draw/colours';
import { SvgPainter } from '../../draw/painter';
import { offer } from '../../export';
import { point } from '../../hover';
import { Panel } from '../../ui/kit';
import type { KernelParts } from './answer';
import { kindMark } from './kinds';
import type { Lit } from './links';
import { ABOUT_KINDS, flat, type LoopNode, treeOf } from './tree';

export function Loops(props: { kernel: KernelParts; lit: Lit; note: string }) {
  const tree = treeOf(props.kernel);
  useEffect(() => offer('loops', { svg: () => treeSvg(tree) }), [props.kernel]);
  return (
    <Panel title="Loops" note={props.note}>
      {tree.length === 0 ? <p class="faint">No loop: everything is written out.</p> : <Branch nodes={tree} lit={props.lit} />}
    </Panel>
  );
}

function Branch({ nodes, lit }: { nodes: readonly LoopNode[]; lit: Lit }) {
  return (
    <ul class="loops">
      {nodes.map((node, i) => (
        <li key={`${node.kind}${node.op ?? ''}${i}`}>
          <button
            type="button"
            class={`loop${node.isLoop && node.op !== null && lit.loops.has(node.op) ? ' lit' : ''}`}
            onPointerEnter={() => (node.op === null ? undefined : point('loops', { loop: node.op }))}
            onPointerLeave={() => point('loops', null)}
            onFocus={() => (node.op === null ? undefined : point('loops', { loop: node.op }))}
            onBlur={() => point('loops', null)}
          >
            <span class="mark" style={{ background: kindMark(node.kind) }} aria-hidden="true" />
            <span class="kindmark">{node.kind}</span>
            <span class="size">{node.size}×</span>
            {node.name === '' ? null : <code>{node.name}</code>}
            <span class="faint">
              {node.axis === null ? '' : `axis ${node.axis}: `}
              {ABOUT_KINDS[node.kind] ?? ''}
            </span>
          </button>
          {node.inside.length === 0 ? null : <Branch nodes={node.inside} lit={lit} />}
        </li>
      ))}
    </ul>
  );
}

const ROW = 22;

function treeSvg(tree: readonly LoopNode[]): string {
  const p = new SvgPainter();
  const t = theme();
  const rows = flat(tree);
  rows.forEach(({ node, depth }, i) => {
    const x = 10 + depth * 20, y = i * ROW + 12;
    p.rect(x, y - 5, 10, 10, kindMark(node.kind), t.ink);
    p.text(x + 18, y, `${node.kind} ${node.size}× ${node.name}${node.axis === null ? '' : `  axis ${node.axis}`}`, 12, t.ink, 'start');
  });
  return p.finish(360 + 20 * Math.max(0, ...rows.map((r) => r.depth)), rows.length * ROW + 4, t.paper);
}
