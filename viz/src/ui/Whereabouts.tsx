// What is hovered, in words: coordinate, address, what a mode adds. Kept on one line, so that nothing moves when it changes.
import { type Hover, hover } from '../hover';
import { type Formula, withValues } from '../values';

interface Props {
  /** How an address is written. */
  readonly text?: (address: number) => string;
  /** What an address is called. */
  readonly word?: string;
  /** How a coordinate is written. */
  readonly place?: (coordinate: readonly number[]) => string;
  /** The index expression, which is shown with its values. */
  readonly formula?: Formula | null;
  readonly more?: (at: Hover) => readonly string[];
}

export function Whereabouts(props: Props) {
  const at = hover.value;
  const parts: string[] = [];
  if (at?.coordinate !== undefined) parts.push(props.place?.(at.coordinate) ?? `index (${at.coordinate.join(', ')})`);
  if (at?.address === null) parts.push('masked');
  else if (at?.address !== undefined) parts.push(`${props.word ?? 'address'} ${(props.text ?? String)(at.address)}${computed(at, props.formula)}`);
  if (at !== null) parts.push(...(props.more?.(at) ?? []));
  return <p class="whereabouts">{parts.length === 0 ? 'Point at a cell, or move with the arrow keys.' : parts.join(' · ')}</p>;
}

function computed(at: Hover, formula: Formula | null | undefined): string {
  const { coordinate } = at;
  if (formula === null || formula === undefined || coordinate?.length !== formula.names.length || !/[-+*/%]/.test(formula.text)) return '';
  return ` = ${withValues(formula, coordinate)}`;
}
