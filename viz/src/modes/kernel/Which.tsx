// Which of its kernels is shown, where one is made of several.
import { param, update } from '../../state';
import { Choice } from '../../ui/kit';
import type { KernelAnswer, KernelParts } from './answer';

/** The one that the link says; the last one runs last and has the name. */
export function whichPart(kernel: KernelAnswer): KernelParts {
  return kernel.first[Number(param('part', '-1'))] ?? kernel;
}

export function Which({ kernel }: { kernel: KernelAnswer }) {
  if (kernel.first.length === 0) return null;
  const options = [...kernel.first.map((k, i) => [String(i), `${i + 1}: ${k.name}`] as const), ['-1', `${kernel.first.length + 1}: ${kernel.name}`] as const];
  return <Choice label="Made of several, one after another; shown is" value={param('part', '-1')} options={options} onChange={(part) => update({ part: part === '-1' ? undefined : part })} />;
}
