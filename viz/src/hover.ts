// What the pointer or the keyboard's cursor is on, shared by all pictures: each shows its own side of it.
import { signal } from '@preact/signals';

export interface Hover {
  /** Which picture said it: that one does not scroll to it. */
  readonly from: string;
  /** The logical coordinate, outermost dimension first. */
  readonly coordinate?: readonly number[];
  /** The address in memory, in elements; null where the element is masked. */
  readonly address?: number | null;
  /** Of a stack: the index in each View, the one that takes the indices first. */
  readonly indices?: readonly (readonly number[])[];
  /** Of a kernel: a UOp, by its row; a loop, by its UOp; a line of the source. */
  readonly op?: number;
  readonly loop?: number;
  readonly line?: number;
  /** Whose address it is, where there are several buffers: its slot. */
  readonly buffer?: number;
  /** Of a layout: thread and value. */
  readonly thread?: number;
  readonly value?: number;
  /** Several threads that are meant together: those that collide in a bank. */
  readonly threads?: readonly number[];
  /** Of their values these alone, first to last. */
  readonly values?: readonly [number, number];
  /** A cache line in memory. */
  readonly cacheLine?: number;
}

export const hover = signal<Hover | null>(null);

/** Says what is hovered; `null` takes back what `from` said. */
export function point(from: string, at: Omit<Hover, 'from'> | null): void {
  if (at !== null) hover.value = { from, ...at };
  else if (hover.peek()?.from === from) hover.value = null;
}
