// How cells are coloured and what stands in them.
import { amountColour, amountShade, kindColour, mix, parseColour, type Shade } from '../../draw/colours';
import type { Machine } from './access';
import type { Drawn, Work } from './drawn';
import type { Link } from './links';

export const COLOURS = [
  ['address', 'value'],
  ['thread', 'thread'],
  ['value', 'value of a thread'],
  ['both', 'thread and value'],
  ['part', 'tile or copy'],
  ['bank', 'bank'],
  ['line', 'cache line'],
] as const;
export type Colour = (typeof COLOURS)[number][0];
export const TEXTS = [
  ['address', 'value'],
  ['index', 'index'],
  ['coordinate', 'coordinate'],
  ['thread', 'thread and value'],
  ['bank', 'bank'],
] as const;
export type Text = (typeof TEXTS)[number][0];

export interface Paint {
  readonly colour: Colour;
  readonly work: Work;
  readonly machine: Machine;
  readonly link: Link | null;
  /** The thread that is looked at alone, -1 for all. */
  readonly only: number;
  readonly paper: string;
}

const floorMod = (a: number, b: number): number => ((a % b) + b) % b;
export const bankOf = (address: number, m: Machine): number => floorMod(Math.floor((m.base + address * m.bytes) / m.bankBytes), m.banks);
export const lineOf = (address: number, m: Machine): number => Math.floor((m.base + address * m.bytes) / m.lineBytes);

/** Colours of indices. */
export function shadeOf(d: Drawn, at: (index: number) => number, p: Paint): Shade {
  const plain = plainShade(d, at, p);
  if (p.only < 0) return plain;
  return byColour((i) => (p.work.thread(i) === p.only ? plain.colour(i) : mix(plain.colour(i), p.paper, 0.82)));
}

function plainShade(d: Drawn, at: (index: number) => number, p: Paint): Shade {
  const { work, machine, link } = p;
  const amounts = amountShade(d.least, d.most);
  const shade: Record<Colour, () => Shade> = {
    address: () => ({ colour: (i) => amounts.colour(at(i)), pixel: (i) => amounts.pixel(at(i)) }),
    thread: () => byColour((i) => kindColour(work.thread(i))),
    value: () => byColour((i) => kindColour(work.value(i))),
    both: () => byColour((i) => mix(kindColour(work.thread(i)), '#ffffff', (0.75 * work.value(i)) / Math.max(1, work.values - 1))),
    part: () => byColour((i) => partColour(link?.part(i) ?? null)),
    bank: () => byColour((i) => amountColour(bankOf(at(i), machine) / Math.max(1, machine.banks - 1))),
    line: () => byColour((i) => kindColour(floorMod(lineOf(at(i), machine), 32))),
  };
  return shade[p.colour]();
}

const partColour = (part: number | null): string => (part === null ? '#999999' : kindColour(part));

export function byColour(colour: (index: number) => string): Shade {
  return {
    colour,
    pixel: (i) => {
      const [r, g, b] = parseColour(colour(i));
      return ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0;
    },
  };
}
