// A layout as a TikZ picture that compiles by itself.
import { type Drawn, indexIn, pictureShape } from './drawn';

const MOST = 4096;

/** Cells with their texts on their colours; a picture of more cells than TeX has patience for keeps the first ones of each direction. */
export function tikz(d: Drawn, colour: (index: number) => string, inkOn: (colour: string) => string, text: (index: number) => string): string {
  const shape = pictureShape(d.sizes);
  const cols = Math.min(shape.at(-1) ?? 1, MOST);
  const rows = Math.min(shape.length < 2 ? 1 : (shape.at(-2) ?? 1), Math.max(1, Math.floor(MOST / cols)));
  const panels = Math.min(shape.slice(0, -2).reduce((a, b) => a * b, 1), Math.max(1, Math.floor(MOST / (rows * cols))));
  const cells: string[] = [];
  const colours = new Map<string, string>();
  const named = (c: string): string => {
    const hex = c.slice(1).toUpperCase();
    if (!colours.has(hex)) colours.set(hex, `strata${colours.size}`);
    return colours.get(hex) ?? '';
  };
  for (let p = 0; p < panels; ++p)
    for (let r = 0; r < rows; ++r)
      for (let c = 0; c < cols; ++c) {
        const place = shape.length < 2 ? [c] : [...leading(shape, p), r, c];
        const i = indexIn(d.sizes, place), fill = colour(i);
        const ink = inkOn(fill) === '#000000' ? 'black' : 'white';
        cells.push(`\\node[cell, fill=${named(fill)}, text=${ink}] at (${c + p * (cols + 1)},${-r}) {${escapeTex(text(i))}};`);
      }
  return document(d, rows, cols, panels, cells, colours);
}

function leading(shape: readonly number[], panel: number): number[] {
  const out: number[] = [];
  for (const size of shape.slice(0, -2).reverse()) {
    out.unshift(panel % size);
    panel = Math.floor(panel / size);
  }
  return out;
}

function document(d: Drawn, rows: number, cols: number, panels: number, cells: readonly string[], colours: ReadonlyMap<string, string>): string {
  const label = (n: number, at: (k: number) => string): string[] => Array.from({ length: n }, (_, k) => `\\node[label] at (${at(k)}) {${k}};`);
  const part = rows * cols * panels < d.size ? ` (${rows * cols * panels} of ${d.size} cells)` : '';
  return [
    '\\documentclass[tikz,border=4pt]{standalone}',
    `% ${d.text}${part}`,
    ...[...colours].map(([hex, name]) => `\\definecolor{${name}}{HTML}{${hex}}`),
    '\\begin{document}',
    '\\begin{tikzpicture}[',
    '  cell/.style={draw=black!30, minimum size=1cm, inner sep=0pt, font=\\ttfamily\\small},',
    '  label/.style={font=\\ttfamily\\scriptsize, text=black!60}]',
    ...cells,
    ...(d.sizes.length < 2 ? [] : label(rows, (r) => `-0.8,${-r}`)),
    ...Array.from({ length: panels }, (_, p) => label(cols, (c) => `${c + p * (cols + 1)},0.75`)).flat(),
    '\\end{tikzpicture}',
    '\\end{document}',
    '',
  ].join('\n');
}

export const escapeTex = (text: string): string =>
  text.replace(/[\\{}$&#%_^~]/g, (c) => (c === '\\' ? '\\textbackslash{}' : c === '^' || c === '~' ? `\\${c}{}` : `\\${c}`));
