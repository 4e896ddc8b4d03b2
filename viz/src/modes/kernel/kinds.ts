// One colour a kind of loop, the same wherever it is drawn; its name stands beside it.
import { KINDS } from '../../draw/colours';

const PLACES: Readonly<Record<string, number>> = { loop: 1, parallel: 5, reduce: 0, scratch: 7, upcast: 2, unroll: 6, lanes: 3 };

export const kindMark = (kind: string): string => KINDS[(PLACES[kind] ?? 7) as 0] ?? '#999999';
