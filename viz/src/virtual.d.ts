declare module 'virtual:first' {
  /** Request, answer and the numbers beside it, null where NaN. */
  const answers: readonly [string, Record<string, unknown>, readonly (readonly (number | null)[])[]][];
  export default answers;
}
