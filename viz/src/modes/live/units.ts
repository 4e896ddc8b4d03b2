// Numbers as people read them: three digits and a unit.
const scaled = (value: number, steps: readonly (readonly [number, string])[]): string => {
  const [size, unit] = steps.find(([s]) => Math.abs(value) >= s) ?? steps.at(-1) ?? [1, ''];
  const v = value / size;
  return `${v >= 100 || Number.isInteger(v) ? Math.round(v) : v.toPrecision(3)} ${unit}`;
};
export const timeText = (ns: number): string => scaled(ns, [[1e9, 's'], [1e6, 'ms'], [1e3, 'µs'], [1, 'ns']]);
export const bytesText = (bytes: number): string => scaled(bytes, [[2 ** 30, 'GiB'], [2 ** 20, 'MiB'], [2 ** 10, 'KiB'], [1, 'bytes']]);
export const rateText = (perSecond: number, what: string): string => scaled(perSecond, [[1e12, `T${what}/s`], [1e9, `G${what}/s`], [1e6, `M${what}/s`], [1e3, `k${what}/s`], [1, `${what}/s`]]);

/** `1 kernel`, `2 kernels`. */
export const counted = (n: number, what: string): string => `${n} ${what}${n === 1 ? '' : 's'}`;
