// The coordinates that the engine shows where something does not hold: of Views and layouts indices, of expressions values of their
// variables.
import type { Reading } from './reading';

export type Witness = readonly (readonly number[])[];

export function witnessText(witness: Witness, reading: Reading | null): string {
  const names = reading?.kind === 'expr' ? Object.keys(reading.vars) : [];
  const place = (at: readonly number[]): string =>
    names.length === at.length && at.length > 0 ? at.map((v, i) => `${names[i]} = ${v}`).join(', ') : `index (${at.join(', ')})`;
  return witness.map(place).join(' and ');
}
