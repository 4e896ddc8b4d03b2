// A field on a canvas, to be zoomed and panned: cells with their addresses where these can be read, pixels where they cannot.
//
// The world is measured in cells. Panels (what is before rows and columns) stand in a grid of their own, GAP cells apart. A draw
// touches what is seen, no more: about as many elements as the canvas has pixels.
import { type Shade, type Theme, inkOn, parseColour } from './colours';
import { addressAt, colsOf, coordinateOf, type Field, panelsOf, placeOf, rowsOf } from './field';
import { CanvasPainter, type Painter, SvgPainter } from './painter';

const GAP = 2;
const RECTANGLES = 8; // pixels a cell from which cells are rectangles
const TEXTS = 18; // and from which they have texts
const LARGEST = 96;
const FEW_PANELS = 64;
const HEIGHT = 420; // that many panels are arranged for
const LEAST_PITCH = 12; // pixels from panel to panel
const MOST_PANELS = 4096; // that are drawn at once, whatever their pitch

export interface Look {
  readonly shade: Shade;
  readonly theme: Theme;
  /** What stands in a cell. */
  text(address: number): string;
  /** What stands before rows and above columns and panels; names of the dimensions. */
  readonly names: readonly string[];
  /** The label of each dimension's first element, 0 where there is none. */
  readonly firsts?: readonly number[];
  /** Cells that are to be seen: the address or the coordinate that is hovered. */
  readonly address: number | null;
  readonly coordinate: readonly number[] | null;
  /** Further outlines, by coordinate; null for none. */
  outline?(coordinate: readonly number[], address: number | null): string | null;
  /** Neighbours of one group are outlined together. */
  group?(coordinate: readonly number[], address: number | null): number | null;
}

export interface Spot {
  readonly coordinate: readonly number[];
  /** null: masked; undefined: not known yet. */
  readonly address: number | null | undefined;
}

export class Grid {
  scale = 32;
  private x = 0; // of the world's origin, in pixels
  private y = 0;
  private fitted = true;
  private pixels: ImageData | null = null;
  private row = new Float64Array(0);

  constructor(
    private readonly canvas: HTMLCanvasElement,
    private field: Field,
    private look: Look,
  ) {}

  // --- geometry ---

  private get across(): number {
    const { shape } = this.field;
    const panels = panelsOf(shape);
    if (shape.length > 3) return Math.max(1, shape.at(-3) ?? 1);
    const [w, h] = [colsOf(shape) + GAP, rowsOf(shape) + GAP];
    // Of many panels the height follows from how many stand in a row, never the other way round: each would change the other.
    const aspect = Math.max(0.5, this.width / (panels > FEW_PANELS ? HEIGHT : Math.max(1, this.height)));
    return Math.max(1, Math.min(panels, Math.ceil(Math.sqrt((panels * h * aspect) / w))));
  }
  private get margin(): number {
    return this.field.shape.length === 0 ? 0.2 : 1.4; // in cells: for the labels
  }
  private get worldWidth(): number {
    return Math.min(this.across, panelsOf(this.field.shape)) * (colsOf(this.field.shape) + GAP) - GAP + this.margin;
  }
  private get worldHeight(): number {
    return Math.ceil(panelsOf(this.field.shape) / this.across) * (rowsOf(this.field.shape) + GAP) - GAP + this.margin;
  }
  get width(): number {
    return this.canvas.clientWidth;
  }
  get height(): number {
    return this.canvas.clientHeight;
  }

  /** How high the canvas has to be for the whole picture at a good size, up to `most`. */
  wantedHeight(width: number, most: number): number {
    const scale = Math.min(40, width / this.worldWidth);
    return Math.round(Math.min(most, Math.max(64, this.worldHeight * scale + 4)));
  }

  set(field: Field, look: Look): void {
    const other = field.shape.join() !== this.field.shape.join();
    this.field = field;
    this.look = look;
    if (other) this.fitted = true;
    this.draw();
  }

  fit(): void {
    this.fitted = true;
    this.draw();
  }

  /** Whether all of it is seen. */
  get isWhole(): boolean {
    return this.worldWidth * this.scale <= this.width + 1 && this.worldHeight * this.scale <= this.height + 1;
  }

  private applyFit(): void {
    const scale = Math.min(40, this.width / this.worldWidth, this.height / this.worldHeight);
    this.scale = Math.max(scale, this.leastScale());
    this.x = this.margin * this.scale + Math.max(0, (this.width - this.worldWidth * this.scale) / 2);
    this.y = this.margin * this.scale;
  }

  /** A pixel a cell, and no more panels than can be told apart; less where all of it is little enough to be looked at. */
  private leastScale(): number {
    const { shape } = this.field;
    const whole = Math.min(this.width / this.worldWidth, this.height / this.worldHeight);
    const least = shape.length < 3 ? 1 : Math.max(1, LEAST_PITCH / Math.sqrt((colsOf(shape) + GAP) * (rowsOf(shape) + GAP)));
    const isLittle = this.worldWidth * this.worldHeight <= 1 << 21 && panelsOf(shape) <= MOST_PANELS;
    return isLittle ? Math.min(least, whole) : least;
  }

  zoom(factor: number, px: number, py: number): void {
    const next = Math.min(LARGEST, Math.max(this.leastScale(), this.scale * factor));
    this.x = px - ((px - this.x) * next) / this.scale;
    this.y = py - ((py - this.y) * next) / this.scale;
    this.scale = next;
    this.fitted = false;
    this.keepInside();
    this.draw();
  }

  pan(dx: number, dy: number): void {
    this.x += dx;
    this.y += dy;
    this.fitted = false;
    this.keepInside();
    this.draw();
  }

  private keepInside(): void {
    const part = 0.25;
    const clamp = (v: number, extent: number, view: number): number =>
      Math.min(view * (1 - part), Math.max(view * part - extent * this.scale, v));
    this.x = clamp(this.x, this.worldWidth, this.width);
    this.y = clamp(this.y, this.worldHeight, this.height);
  }

  /** Pans so that the element can be seen. */
  reveal(coordinate: readonly number[]): void {
    const [x, y] = this.corner(coordinate);
    const dx = x < 0 ? -x + this.scale : x + this.scale > this.width ? this.width - x - 2 * this.scale : 0;
    const dy = y < 0 ? -y + this.scale : y + this.scale > this.height ? this.height - y - 2 * this.scale : 0;
    if (dx !== 0 || dy !== 0) this.pan(dx, dy);
  }

  /** Where an element's cell begins, in pixels. */
  corner(coordinate: readonly number[]): [number, number] {
    const [panel, row, col] = placeOf(this.field.shape, coordinate);
    const [x, y] = this.panelOrigin(panel);
    return [x + col * this.scale, y + row * this.scale];
  }

  private panelOrigin(panel: number): [number, number] {
    const across = panel % this.across, down = Math.floor(panel / this.across);
    return [
      this.x + across * (colsOf(this.field.shape) + GAP) * this.scale,
      this.y + down * (rowsOf(this.field.shape) + GAP) * this.scale,
    ];
  }

  /** What is at a pixel; null between panels and outside. */
  at(px: number, py: number): Spot | null {
    const { shape } = this.field;
    const pitchX = (colsOf(shape) + GAP) * this.scale, pitchY = (rowsOf(shape) + GAP) * this.scale;
    const across = Math.floor((px - this.x) / pitchX), down = Math.floor((py - this.y) / pitchY);
    const panel = down * this.across + across;
    if (across < 0 || down < 0 || across >= this.across || panel >= panelsOf(shape)) return null;
    const col = Math.floor((px - this.x - across * pitchX) / this.scale);
    const row = Math.floor((py - this.y - down * pitchY) / this.scale);
    if (col < 0 || row < 0 || col >= colsOf(shape) || row >= rowsOf(shape)) return null;
    return { coordinate: coordinateOf(shape, panel, row, col), address: addressAt(this.field, panel, row, col) };
  }

  // --- drawing ---

  draw(): void {
    const g = this.canvas.getContext('2d', { alpha: false });
    if (g === null || this.width === 0) return;
    const dpr = window.devicePixelRatio || 1;
    const [w, h] = [Math.round(this.width * dpr), Math.round(this.height * dpr)];
    if (this.canvas.width !== w || this.canvas.height !== h) [this.canvas.width, this.canvas.height] = [w, h];
    if (this.fitted) this.applyFit();
    if (this.scale < RECTANGLES) return this.drawPixels(g, w, h, dpr);
    g.setTransform(dpr, 0, 0, dpr, 0, 0);
    g.fillStyle = this.look.theme.paper;
    g.fillRect(0, 0, this.width, this.height);
    this.paint(new CanvasPainter(g));
  }

  /** What is seen, as SVG. */
  svg(): string {
    const out = new SvgPainter();
    this.paint(out);
    return out.finish(this.width, this.height, this.look.theme.paper);
  }

  private visible(origin: number, count: number, extent: number): [number, number] {
    const begin = Math.max(0, Math.floor(-origin / this.scale));
    return [begin, Math.min(count, Math.ceil((extent - origin) / this.scale))];
  }

  private eachPanel(paint: (panel: number, x: number, y: number) => void): void {
    const { shape } = this.field;
    const pitchX = (colsOf(shape) + GAP) * this.scale, pitchY = (rowsOf(shape) + GAP) * this.scale;
    const left = Math.max(0, Math.floor(-this.x / pitchX)), top = Math.max(0, Math.floor(-this.y / pitchY));
    for (let down = top; this.y + down * pitchY < this.height; ++down)
      for (let across = left; across < this.across && this.x + across * pitchX < this.width; ++across) {
        const panel = down * this.across + across;
        if (panel >= panelsOf(shape)) return;
        paint(panel, this.x + across * pitchX, this.y + down * pitchY);
      }
  }

  private paint(p: Painter): void {
    this.eachPanel((panel, x, y) => {
      this.paintCells(p, panel, x, y);
      if (this.field.shape.length > 0) this.paintLabels(p, panel, x, y);
    });
  }

  private paintCells(p: Painter, panel: number, x: number, y: number): void {
    const { shape } = this.field;
    const s = this.scale;
    const [r0, r1] = this.visible(y, rowsOf(shape), this.height);
    const [c0, c1] = this.visible(x, colsOf(shape), this.width);
    if (c1 <= c0) return;
    const span = new Float64Array(c1 - c0);
    const inset = s >= 16 ? 1 : 0.5;
    for (let r = r0; r < r1; ++r) {
      this.field.span(panel, r, c0, span);
      for (let c = c0; c < c1; ++c) this.paintCell(p, panel, r, c, span[c - c0] ?? NaN, x + c * s, y + r * s, inset);
    }
    if (this.look.group !== undefined) this.paintGroups(p, panel, [r0, r1], [c0, c1], x, y);
  }

  private paintGroups(p: Painter, panel: number, [r0, r1]: [number, number], [c0, c1]: [number, number], x: number, y: number): void {
    const { field, look, scale: s } = this;
    const rows = rowsOf(field.shape), cols = colsOf(field.shape);
    const of = (r: number, c: number): number | null => {
      if (r < 0 || c < 0 || r >= rows || c >= cols) return null;
      return look.group?.(coordinateOf(field.shape, panel, r, c), addressAt(field, panel, r, c) ?? null) ?? null;
    };
    for (let r = r0; r <= r1; ++r)
      for (let c = c0; c <= c1; ++c) {
        const here = of(r, c);
        if (of(r, c - 1) !== here) p.line(x + c * s, y + r * s, x + c * s, y + (r + 1) * s, look.theme.ink, 2);
        if (of(r - 1, c) !== here) p.line(x + c * s, y + r * s, x + (c + 1) * s, y + r * s, look.theme.ink, 2);
      }
  }

  private paintCell(p: Painter, panel: number, row: number, col: number, a: number, x: number, y: number, inset: number): void {
    const { look, scale: s } = this;
    const size = s - 2 * inset;
    const coordinate = coordinateOf(this.field.shape, panel, row, col);
    const known = Number.isFinite(a);
    const fill = known ? look.shade.colour(a) : a === Infinity ? look.theme.paper : look.theme.masked;
    p.rect(x + inset, y + inset, size, size, fill);
    const mark = look.outline?.(coordinate, known ? a : null) ?? null;
    if (mark !== null) p.rect(x + inset + 1, y + inset + 1, size - 2, size - 2, null, mark, 2);
    const here = look.coordinate !== null && look.coordinate.every((v, d) => v === coordinate[d]) && look.coordinate.length === coordinate.length;
    if (here || (known && look.address === a)) p.rect(x + 1.5, y + 1.5, s - 3, s - 3, null, look.theme.accent, here ? 3 : 2);
    if (s < TEXTS) return;
    if (!known) {
      if (a !== Infinity) p.text(x + s / 2, y + s / 2, '·', Math.min(14, s * 0.5), look.theme.faint);
      return;
    }
    const text = look.text(a);
    const font = Math.min(14, s * 0.45, (s * 1.5) / Math.max(2, text.length));
    if (font >= 5) p.text(x + s / 2, y + s / 2, text, Math.round(font * 2) / 2, inkOn(fill));
  }

  private paintLabels(p: Painter, panel: number, x: number, y: number): void {
    const { look, scale: s } = this;
    const { shape } = this.field;
    const size = Math.min(12, s * 0.42);
    if (size < 6) return;
    const rank = shape.length;
    const first = (d: number): number => look.firsts?.[d] ?? 0;
    if (rank >= 2) {
      const [r0, r1] = this.visible(y, rowsOf(shape), this.height);
      for (let r = r0; r < r1; ++r) p.text(x - s * 0.2, y + (r + 0.5) * s, String(r + first(rank - 2)), size, look.theme.faint, 'end');
    }
    const [c0, c1] = this.visible(x, colsOf(shape), this.width);
    for (let c = c0; c < c1; ++c) p.text(x + (c + 0.5) * s, y - s * 0.3, String(c + first(rank - 1)), size, look.theme.faint);
    if (rank <= 2) return;
    const lead = coordinateOf(shape, panel, 0, 0).slice(0, -2);
    const title = lead.map((v, d) => `${look.names[d] ?? 'i' + d}=${v + first(d)}`).join(' ');
    p.text(x, y - s * 0.85, title, size, look.theme.ink, 'start');
  }

  // --- pixels ---

  private drawPixels(g: CanvasRenderingContext2D, w: number, h: number, dpr: number): void {
    if (this.pixels === null || this.pixels.width !== w || this.pixels.height !== h) this.pixels = g.createImageData(w, h);
    const out = new Uint32Array(this.pixels.data.buffer);
    out.fill(pack(this.look.theme.paper));
    this.eachPanel((panel, x, y) => this.pixelPanel(out, w, h, dpr, panel, x, y));
    g.putImageData(this.pixels, 0, 0);
    g.setTransform(dpr, 0, 0, dpr, 0, 0);
    this.markPixels(new CanvasPainter(g));
  }

  private pixelPanel(out: Uint32Array, w: number, h: number, dpr: number, panel: number, x: number, y: number): void {
    const { shape } = this.field;
    const s = this.scale * dpr;
    const [x0, y0] = [x * dpr, y * dpr];
    const left = Math.max(0, Math.ceil(x0)), right = Math.min(w, Math.floor(x0 + colsOf(shape) * s));
    const top = Math.max(0, Math.ceil(y0)), bottom = Math.min(h, Math.floor(y0 + rowsOf(shape) * s));
    if (right <= left) return;
    const c0 = Math.max(0, Math.floor((left - x0) / s)), c1 = Math.min(colsOf(shape), Math.ceil((right - x0) / s));
    if (this.row.length !== c1 - c0) this.row = new Float64Array(c1 - c0);
    const columns = Uint32Array.from({ length: right - left }, (_, i) => Math.min(c1 - 1, Math.floor((left + i - x0) / s)) - c0);
    const masked = pack(this.look.theme.masked), unknown = pack(this.look.theme.paper);
    let before = -1;
    for (let py = top; py < bottom; ++py) {
      const r = Math.min(rowsOf(shape) - 1, Math.floor((py - y0) / s));
      const base = py * w + left;
      if (r === before) {
        out.copyWithin(base, base - w, base - w + columns.length);
        continue;
      }
      before = r;
      this.field.span(panel, r, c0, this.row);
      for (let i = 0; i < columns.length; ++i) {
        const a = this.row[columns[i] ?? 0] ?? NaN;
        out[base + i] = a === Infinity ? unknown : a !== a ? masked : this.look.shade.pixel(a);
      }
    }
  }

  private markPixels(p: Painter): void {
    const { coordinate, theme } = this.look;
    if (coordinate === null || coordinate.length !== this.field.shape.length) return;
    const [x, y] = this.corner(coordinate);
    const size = Math.max(6, this.scale);
    p.rect(x + this.scale / 2 - size / 2, y + this.scale / 2 - size / 2, size, size, null, theme.accent, 2);
  }
}

function pack(colour: string): number {
  const [r, g, b] = parseColour(colour);
  return ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0;
}
