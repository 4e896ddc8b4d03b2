// The box's text as a call of the algebra, and back: what the argument boxes show and write.
export interface Call {
  /** Declarations before it, with their semicolon. */
  readonly before: string;
  /** '' for a layout alone. */
  readonly fn: string;
  readonly args: readonly string[];
}

export function splitCall(text: string): Call {
  const end = Math.max(text.lastIndexOf(';'), text.lastIndexOf('\n')) + 1;
  const before = text.slice(0, end), statement = text.slice(end).trim();
  const called = /^([a-z_][a-z_0-9]*)\s*\((.*)\)$/is.exec(statement);
  if (called === null) return { before, fn: '', args: [statement] };
  return { before, fn: called[1] ?? '', args: splitArguments(called[2] ?? '') };
}

export function joinCall(call: Call): string {
  const before = call.before.trim() === '' ? '' : call.before.trimEnd() + ' ';
  return before + (call.fn === '' ? (call.args[0] ?? '') : `${call.fn}(${call.args.join(', ')})`);
}

/** At commas outside of brackets. */
export function splitArguments(text: string): string[] {
  const out: string[] = [];
  let depth = 0, begin = 0;
  for (let i = 0; i < text.length; ++i) {
    const c = text[i] ?? '';
    if ('([<'.includes(c)) ++depth;
    else if (')]>'.includes(c)) --depth;
    else if (c === ',' && depth === 0) {
      out.push(text.slice(begin, i).trim());
      begin = i + 1;
    }
  }
  return [...out, text.slice(begin).trim()];
}
