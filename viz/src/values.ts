// An index expression with values in the place of names: what is computed for the element that is pointed at.

export interface Formula {
  readonly text: string;
  /** A name for each coordinate. */
  readonly names: readonly string[];
  /** The value of each name at coordinate 0. */
  readonly least?: readonly number[];
}

export function withValues(formula: Formula, coordinate: readonly number[]): string {
  const values = new Map(formula.names.map((name, d) => [name, (coordinate[d] ?? 0) + (formula.least?.[d] ?? 0)]));
  return formula.text.replace(/[A-Za-z_]\w*/g, (name) => {
    const value = values.get(name);
    return value === undefined ? name : value < 0 ? `(${value})` : String(value);
  });
}

/** The names that a View's index expression has. */
export const ridx = (rank: number): string[] => Array.from({ length: rank }, (_, d) => `ridx${d}`);
