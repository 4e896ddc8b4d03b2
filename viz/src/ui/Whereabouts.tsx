// What is hovered, in words: coordinate, address, bytes. Kept on one line, so that nothing moves when it changes.
import { hover } from '../hover';

export function Whereabouts() {
  const at = hover.value;
  const parts: string[] = [];
  if (at?.coordinate !== undefined) parts.push(`index (${at.coordinate.join(', ')})`);
  if (at?.address === null) parts.push('masked');
  else if (at?.address !== undefined) parts.push(`address ${at.address}`);
  return <p class="whereabouts">{parts.length === 0 ? 'Point at a cell, or move with the arrow keys.' : parts.join(' · ')}</p>;
}
