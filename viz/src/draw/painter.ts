// One way to draw: on a canvas, or into an SVG text. What a picture draws once is on the screen and in its export.
export interface Painter {
  rect(x: number, y: number, w: number, h: number, fill: string | null, stroke?: string | null, width?: number): void;
  line(x1: number, y1: number, x2: number, y2: number, stroke: string, width?: number): void;
  /** `x`, `y` is the middle of the text, or its left or right end. */
  text(x: number, y: number, text: string, size: number, fill: string, anchor?: 'start' | 'middle' | 'end'): void;
  circle(x: number, y: number, r: number, fill: string | null, stroke?: string | null, width?: number): void;
  /** A line through points; closed and filled where `fill` is given. */
  path(points: readonly (readonly [number, number])[], stroke: string | null, fill?: string | null, width?: number): void;
}

export const MONO = 'ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace';

export class CanvasPainter implements Painter {
  private font = '';
  constructor(private readonly g: CanvasRenderingContext2D) {
    g.textBaseline = 'middle';
  }

  rect(x: number, y: number, w: number, h: number, fill: string | null, stroke: string | null = null, width = 1): void {
    if (fill !== null) {
      this.g.fillStyle = fill;
      this.g.fillRect(x, y, w, h);
    }
    if (stroke !== null) {
      this.g.strokeStyle = stroke;
      this.g.lineWidth = width;
      this.g.strokeRect(x, y, w, h);
    }
  }

  line(x1: number, y1: number, x2: number, y2: number, stroke: string, width = 1): void {
    this.g.strokeStyle = stroke;
    this.g.lineWidth = width;
    this.g.beginPath();
    this.g.moveTo(x1, y1);
    this.g.lineTo(x2, y2);
    this.g.stroke();
  }

  text(x: number, y: number, text: string, size: number, fill: string, anchor: 'start' | 'middle' | 'end' = 'middle'): void {
    const font = `${size}px ${MONO}`;
    if (font !== this.font) this.g.font = this.font = font;
    this.g.textAlign = anchor === 'middle' ? 'center' : anchor;
    this.g.fillStyle = fill;
    this.g.fillText(text, x, y);
  }

  circle(x: number, y: number, r: number, fill: string | null, stroke: string | null = null, width = 1): void {
    this.g.beginPath();
    this.g.arc(x, y, r, 0, 2 * Math.PI);
    this.finish(fill, stroke, width);
  }

  path(points: readonly (readonly [number, number])[], stroke: string | null, fill: string | null = null, width = 1): void {
    this.g.beginPath();
    points.forEach(([x, y], i) => (i === 0 ? this.g.moveTo(x, y) : this.g.lineTo(x, y)));
    if (fill !== null) this.g.closePath();
    this.finish(fill, stroke, width);
  }

  private finish(fill: string | null, stroke: string | null, width: number): void {
    if (fill !== null) {
      this.g.fillStyle = fill;
      this.g.fill();
    }
    if (stroke !== null) {
      this.g.strokeStyle = stroke;
      this.g.lineWidth = width;
      this.g.stroke();
    }
  }
}

export const escapeXml = (text: string): string =>
  text.replace(/[&<>"]/g, (c) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' })[c] ?? c);
const n = (v: number): string => String(Math.round(v * 100) / 100);

export class SvgPainter implements Painter {
  private readonly out: string[] = [];

  rect(x: number, y: number, w: number, h: number, fill: string | null, stroke: string | null = null, width = 1): void {
    this.out.push(`<rect x="${n(x)}" y="${n(y)}" width="${n(w)}" height="${n(h)}"${style(fill, stroke, width)}/>`);
  }
  line(x1: number, y1: number, x2: number, y2: number, stroke: string, width = 1): void {
    this.out.push(`<line x1="${n(x1)}" y1="${n(y1)}" x2="${n(x2)}" y2="${n(y2)}"${style(null, stroke, width)}/>`);
  }
  text(x: number, y: number, text: string, size: number, fill: string, anchor: 'start' | 'middle' | 'end' = 'middle'): void {
    this.out.push(
      `<text x="${n(x)}" y="${n(y)}" font-size="${n(size)}" fill="${fill}" text-anchor="${anchor}" dominant-baseline="central">${escapeXml(text)}</text>`,
    );
  }
  circle(x: number, y: number, r: number, fill: string | null, stroke: string | null = null, width = 1): void {
    this.out.push(`<circle cx="${n(x)}" cy="${n(y)}" r="${n(r)}"${style(fill, stroke, width)}/>`);
  }
  path(points: readonly (readonly [number, number])[], stroke: string | null, fill: string | null = null, width = 1): void {
    const shape = fill === null ? 'polyline' : 'polygon';
    this.out.push(`<${shape} points="${points.map(([x, y]) => `${n(x)},${n(y)}`).join(' ')}"${style(fill, stroke, width)}/>`);
  }

  /** The whole document. */
  finish(width: number, height: number, paper: string): string {
    return (
      `<svg xmlns="http://www.w3.org/2000/svg" width="${n(width)}" height="${n(height)}" viewBox="0 0 ${n(width)} ${n(height)}" font-family="${escapeXml(MONO)}">` +
      `<rect width="100%" height="100%" fill="${paper}"/>${this.out.join('')}</svg>`
    );
  }
}

const style = (fill: string | null, stroke: string | null, width: number): string =>
  ` fill="${fill ?? 'none'}"` + (stroke === null ? '' : ` stroke="${stroke}"` + (width === 1 ? '' : ` stroke-width="${n(width)}"`));
