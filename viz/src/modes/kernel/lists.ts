// Lists of Opts as texts: what the link and the box of Opts say.

/** The Opts of a list, `auto` being those that the compiler chose. */
export function optsOf(asked: string, chosen: readonly string[]): string[] {
  const text = asked.trim();
  if (text === '' || text === 'auto') return [...chosen];
  if (text === 'none') return [];
  return text.split(',').map((opt) => opt.trim()).filter((opt) => opt !== '');
}

/** A list as a text; none of them is `none`, for nothing would be `auto`. */
export const textOfOpts = (opts: readonly string[]): string => (opts.length === 0 ? 'none' : opts.join(', '));

export const without = (opts: readonly string[], place: number): string => textOfOpts(opts.filter((_, i) => i !== place));
/** Opts that make a kernel of their own are in front of the others. */
const isFirst = (opt: string): boolean => ['SPLITREDUCE', 'SPLITSCAN', 'PACK', 'DOT', 'TRIM'].includes(kindOf(opt));
/** A BLOCK stands alone. */
export const withMore = (opts: readonly string[], opt: string): string =>
  textOfOpts(kindOf(opt) === 'BLOCK' ? [opt] : isFirst(opt) ? [opt, ...opts] : [...opts, opt]);

/** What each kind of Opt does, in a line. */
export const ABOUT_OPTS: Readonly<Record<string, string>> = {
  SPLIT: 'the innermost loop becomes one of N iterations inside of another: a tile',
  UPCAST: 'N iterations of the innermost loop at once, in registers',
  UNROLL: 'N iterations of a reduction at once, into one accumulator',
  LANES: 'N iterations as one vector',
  PARALLEL: 'the outermost loop runs on several threads',
  REORDER: 'another order of the loops',
  CUT: 'two loops: before and from a place on',
  STAGE: 'a buffer is copied to scratch memory first',
  PADTO: 'the loop gets iterations that do nothing, to a multiple of N',
  MERGE: 'two axes become one',
  SPLITREDUCE: 'a reduction in N parts, each by a thread of its own',
  SPLITSCAN: 'the totals in front of blocks come first, so that threads share a long scan',
  PACK: 'a kernel of its own copies a buffer into blocks of N, in the order of their use',
  DOT: 'products of bytes or bf16, several at a time, on words that kernels of their own make',
  TRIM: 'iterations that padding makes 0 are left out',
  BLOCK: 'parts of the kernel one after another, for N rows at a time',
  STREAM: 'stores go past the caches',
  GUARD: 'accesses are made where they stay inside, alone',
};

export const kindOf = (opt: string): string => opt.split(' ')[0] ?? '';
const BY_AMOUNT = /^(\w+ \d+) (\d+)( @\d+)?$/;
/** What Opts share that differ in one number alone: they are a row of the menu. */
export function stemOf(opt: string): string {
  const [, front, , segment] = BY_AMOUNT.exec(opt) ?? [];
  return front === undefined || kindOf(opt) === 'REORDER' ? kindOf(opt) : front + (segment ?? '');
}
/** And what is left: the number, or what stands behind the kind. */
export const restOf = (opt: string, stem: string): string => (stem === kindOf(opt) ? opt.slice(stem.length + 1) : (BY_AMOUNT.exec(opt)?.[2] ?? ''));
