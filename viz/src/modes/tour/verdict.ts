// Whether a text solves a puzzle. The engine decides; where it says no, it says where.
import { ask, type Failure } from '../../ask';
import { numbersOf } from '../../draw/field';
import { read } from '../../reading';
import { type Witness, witnessText } from '../../witness';
import type { Puzzle } from './puzzles';

export interface Verdict {
  readonly right: boolean;
  readonly words: string;
  /** Where solution and goal differ. */
  readonly witness: Witness | null;
  readonly error?: Failure;
}

export async function verdictOf(puzzle: Puzzle, text: string): Promise<Verdict> {
  return puzzle.rule === 'no-conflict' ? conflictVerdict(puzzle, text) : equalVerdict(puzzle, text);
}

async function equalVerdict(puzzle: Puzzle, text: string): Promise<Verdict> {
  const { answer } = await ask({ do: 'check', what: 'equal', a: text, b: puzzle.goal });
  if (answer.error !== undefined) return refused(answer.error);
  const witness = (answer['witness'] ?? null) as Witness | null;
  if (answer['answer'] === 'true') return { right: true, words: 'Proven equal to the goal.', witness: null };
  if (answer['answer'] === 'unknown') return { right: false, words: 'The engine could not decide this within its budget: try a simpler text.', witness: null };
  return { right: false, words: witness === null ? `Not yet: ${String(answer['note'] || 'its shape is another one')}.` : `Not yet: it differs from the goal at ${witnessText(witness, read.peek().reading)}.`, witness };
}

const BANKS = 32;

/** No two elements share an address, and the elements of a column are in banks of their own. */
async function conflictVerdict(puzzle: Puzzle, text: string): Promise<Verdict> {
  const whole = await ask({ do: 'check', what: 'injective', a: text });
  if (whole.answer.error !== undefined) return refused(whole.answer.error);
  if (whole.answer['answer'] !== 'true') return { right: false, words: 'Two elements of the tile share an address.', witness: null };
  const read = await ask({ do: 'read', text });
  const { args } = (read.answer['request'] ?? {}) as { args?: readonly string[] };
  const layout = args?.length === 1 ? args[0] : undefined;
  if (read.answer['kind'] !== 'layout' || layout === undefined) return { right: false, words: 'Write a layout: (32,32):(row stride, 1).', witness: null };
  const table = await ask({ do: 'layout', args: [layout] });
  const addresses = numbersOf(table.answer['table'], table.arrays);
  const goal = await ask({ do: 'layout', fn: 'size', args: [puzzle.goal] });
  if (addresses === null || addresses.length !== goal.answer['value']) return { right: false, words: 'The tile has 32 rows and 32 columns.', witness: null };
  return columnVerdict(addresses);
}

/** @param addresses of a 32 by 32 tile, rows fastest */
export function columnVerdict(addresses: ArrayLike<number>): Verdict {
  for (let col = 0; col < BANKS; ++col) {
    const seen = new Map<number, number>();
    for (let row = 0; row < BANKS; ++row) {
      const bank = (addresses[col * BANKS + row] ?? 0) % BANKS;
      const other = seen.get(bank);
      if (other !== undefined) return { right: false, words: `Not yet: in column ${col}, rows ${other} and ${row} are both in bank ${bank}.`, witness: [[other, col], [row, col]] };
      seen.set(bank, row);
    }
  }
  return { right: true, words: 'No two threads of a column meet in a bank.', witness: null };
}

const refused = (error: Failure): Verdict => ({ right: false, words: error.message, witness: null, error });
