// Which block holds which result while a schedule runs: items to the right, blocks downwards.
import { useMemo, useState } from 'preact/hooks';
import { inkOn, kindColour, theme } from '../../draw/colours';
import type { Painter } from '../../draw/painter';
import { Chart } from './Charts';
import { shortOp } from './Graph';
import { type Life, livesOf } from './lives';
import type { Plan, TensorGraph } from './trace';
import { bytesText } from './units';

const LEFT = 84, TOP = 4, BOTTOM = 18;
const MOST = 360; // pixels, of all blocks

export function PlanPicture(props: { graph: TensorGraph; plan: Plan }) {
  const { graph, plan } = props;
  const lives = useMemo(() => livesOf(graph), [graph, plan, graph.schedule.length]);
  const [at, setAt] = useState<Life | null>(null);
  const items = Math.max(1, graph.schedule.length);
  const row = Math.max(2, Math.min(18, MOST / plan.blocks.length));
  const step = (width: number): number => (width - LEFT - 4) / items;
  const paint = (p: Painter, width: number, height: number): void => {
    const t = theme();
    plan.blocks.forEach((bytes, b) => {
      const y = TOP + (b + 0.5) * row;
      p.line(LEFT, y, width - 4, y, t.line);
      if (row >= 11) p.text(LEFT - 6, y, bytesText(bytes), 10, t.faint, 'end');
    });
    for (const life of lives) {
      const fill = kindColour(life.from), x = LEFT + life.from * step(width), w = Math.max(1, (life.to - life.from + 1) * step(width) - 1);
      p.rect(x, TOP + life.block * row + 1, w, Math.max(1, row - 2), fill, life === at ? t.accent : null, 2);
      if (row >= 13 && w > 28) p.text(x + 4, TOP + (life.block + 0.5) * row, String(life.node), 10, inkOn(fill), 'start');
    }
    p.text(LEFT, height - 7, `items 0 to ${items - 1}`, 10, t.faint, 'start');
  };
  const point = (x: number, y: number, width: number): void => {
    const item = Math.floor((x - LEFT) / step(width)), block = Math.floor((y - TOP) / row);
    setAt(lives.find((l) => l.block === block && l.from <= item && item <= l.to) ?? null);
  };
  const node = at === null ? undefined : graph.nodes[at.node];
  return (
    <>
      <h3>Memory between its kernels</h3>
      <Chart
        id="plan"
        label={`Plan of memory: ${lives.length} results in ${plan.blocks.length} blocks of ${bytesText(plan.peak)} over ${items} items; ${bytesText(plan.unshared)} without it`}
        height={Math.ceil(TOP + row * plan.blocks.length + BOTTOM)}
        paint={paint}
        onPoint={point}
      />
      <p class="whereabouts">
        {at === null || node === undefined
          ? `${bytesText(plan.peak)} in ${plan.blocks.length} blocks; ${bytesText(plan.unshared)} without the plan`
          : `node ${at.node}, ${shortOp(node.op)} [${(node.shape ?? []).join(', ')}]: block ${at.block}, from item ${at.from} to item ${at.to}`}
      </p>
    </>
  );
}
