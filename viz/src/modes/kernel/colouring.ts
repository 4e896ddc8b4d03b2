// A kernel's source in pieces with a kind, for colours: words of C, OpenCL, CUDA, Metal, WGSL and LLVM.
export type Colour = 'plain' | 'word' | 'type' | 'number' | 'note' | 'call' | 'name';
export interface Piece {
  readonly text: string;
  readonly colour: Colour;
}

const WORDS = new Set(
  ('for if else return while break continue const restrict static inline extern kernel __kernel __global __local __restrict __restrict__ __constant __global__ __device__ ' +
    'device threadgroup constant using namespace struct let var fn enable override select define declare br label ret load store phi call getelementptr inbounds ' +
    'fadd fsub fmul fdiv fneg fcmp icmp add sub mul sdiv udiv srem urem shl ashr lshr and or xor zext sext trunc fptrunc fpext bitcast sitofp uitofp fptosi fptoui ' +
    'insertelement extractelement shufflevector zeroinitializer poison undef align to contract attributes nounwind nsw nuw true false').split(' '),
);
const TYPE = /^(?:u?int(?:8|16|32|64)?(?:_t)?|u?(?:char|short|long)|unsigned|signed|float|double|half|bool|void|_Bool|ptr|i(?:1|8|16|32|64)|[uif](?:16|32|64)|vec[234]|array|(?:float|int|uint|half|double)(?:2|3|4|8|16)|size_t|ptrdiff_t)$/;
const PIECES = /(?<note>\/\/.*|\/\*.*?\*\/|;.*(?=$)(?<=^\s*;.*))|(?<name>[%@][\w.]+)|(?<number>\b(?:0[xX][\da-fA-F.]+(?:[pP][+-]?\d+)?|\d+\.?\d*(?:[eE][+-]?\d+)?)[fFhuUlL]*|\.\d+f?\b)|(?<word>[A-Za-z_#@]\w*)|(?<rest>[^\w%@/.]+|.)/g;

/** One line. Its pieces together are the line. */
export function coloured(line: string): Piece[] {
  const out: Piece[] = [];
  for (const match of line.matchAll(PIECES)) {
    const text = match[0];
    const colour = colourOf(match.groups ?? {}, text, line.slice((match.index ?? 0) + text.length));
    const before = out.at(-1);
    if (before !== undefined && before.colour === colour) out[out.length - 1] = { text: before.text + text, colour };
    else out.push({ text, colour });
  }
  return out;
}

function colourOf(groups: Record<string, string | undefined>, text: string, after: string): Colour {
  if (groups['note'] !== undefined) return 'note';
  if (groups['name'] !== undefined) return 'name';
  if (groups['number'] !== undefined) return 'number';
  if (groups['word'] === undefined) return 'plain';
  if (WORDS.has(text) || text.startsWith('#')) return 'word';
  if (TYPE.test(text)) return 'type';
  return after.startsWith('(') ? 'call' : 'plain';
}
