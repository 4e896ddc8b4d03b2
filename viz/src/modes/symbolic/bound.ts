// A symbolic stack of Views at chosen sizes: each size is a text, which the engine evaluates.
import { ask, type Request } from '../../ask';
import type { Size, ViewOfStack } from '../../answers';

export type Bounds = Readonly<Record<string, readonly [number, number]>>;
export type Values = Readonly<Record<string, number>>;

/** Values inside of the bounds: those that were chosen, or else the middle. */
export function valuesOf(vars: Bounds, chosen: string): Values {
  const said = new Map(chosen.split(',').flatMap((item) => (/^\w+:-?\d+$/.test(item) ? [item.split(':') as [string, string]] : [])));
  const out: Record<string, number> = {};
  for (const [name, [least, most]] of Object.entries(vars)) {
    const wanted = said.has(name) ? Number(said.get(name)) : Math.floor((least + Math.min(most, least + 10)) / 2);
    out[name] = Math.min(most, Math.max(least, wanted));
  }
  return out;
}

export const chosenText = (values: Values): string => Object.entries(values).map(([name, value]) => `${name}:${value}`).join(',');

/** The Views at these values. Null where the engine refuses one of their texts. */
export async function viewsAt(views: readonly ViewOfStack[], values: Values): Promise<ViewOfStack[] | null> {
  const vars = Object.fromEntries(Object.entries(values).map(([name, v]) => [name, [v, v]]));
  const known = new Map<string, number>();
  const number = async (size: Size): Promise<number> => {
    if (typeof size === 'number') return size;
    if (!known.has(size)) known.set(size, Number((await ask({ do: 'expr', text: size, vars })).answer['constant'] ?? NaN));
    return known.get(size) ?? NaN;
  };
  const numbers = (sizes: readonly Size[]): Promise<number[]> => Promise.all(sizes.map(number));
  const out = await Promise.all(
    views.map(async (v) => ({
      shape: await numbers(v.shape),
      strides: await numbers(v.strides),
      offset: await number(v.offset),
      mask: v.mask === null ? null : ((await Promise.all(v.mask.map(numbers))) as unknown as [number, number][]),
      contiguous: v.contiguous,
    })),
  );
  return [...known.values()].some(Number.isNaN) ? null : out;
}

/** The request that draws Views of numbers. */
export const concreteRequest = (views: readonly ViewOfStack[]): Request => ({ do: 'view', views: views.map(({ contiguous: _, ...view }) => view), simplify: false });

/** A layout's text with numbers for its names. */
export const layoutAt = (text: string, values: Values): string =>
  text.replace(/[A-Za-z_]\w*/g, (name) => (Object.hasOwn(values, name) ? String(values[name]) : name));
