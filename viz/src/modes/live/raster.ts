// Lines and boxes as pixels in memory: a canvas takes longer for ten thousand lines than a frame lasts.
// Colours are pixels of ImageData.

export class Raster {
  private readonly pixels: Uint32Array;

  constructor(private readonly image: ImageData, paper: number) {
    this.pixels = new Uint32Array(image.data.buffer);
    this.pixels.fill(paper);
  }

  /** The whole pixels of a box, one at least. */
  rect(x: number, y: number, w: number, h: number, pixel: number): void {
    const { width, height } = this.image;
    const [left, top] = [Math.round(x), Math.round(y)];
    const [right, bottom] = [Math.max(left + 1, Math.round(x + w)), Math.max(top + 1, Math.round(y + h))];
    const [from, to] = [Math.max(0, left), Math.min(width, right)];
    for (let row = Math.max(0, top); row < Math.min(height, bottom); ++row) if (from < to) this.pixels.fill(pixel, row * width + from, row * width + to);
  }

  /** A pixel for each step along the longer side, where it is in the picture. */
  line(x1: number, y1: number, x2: number, y2: number, pixel: number): void {
    const { width, height } = this.image;
    const steps = Math.max(1, Math.ceil(Math.max(Math.abs(x2 - x1), Math.abs(y2 - y1))));
    const [dx, dy] = [(x2 - x1) / steps, (y2 - y1) / steps];
    let [first, last] = [0, steps];
    for (const [at, by, most] of [[x1, dx, width - 1], [y1, dy, height - 1]] as const) {
      if (Math.abs(by) * steps < 1e-9) {
        if (Math.round(at) < 0 || Math.round(at) > most) return;
        continue;
      }
      const [a, b] = [-at / by, (most - at) / by];
      first = Math.max(first, Math.ceil(Math.min(a, b)));
      last = Math.min(last, Math.floor(Math.max(a, b)));
    }
    const { pixels } = this;
    let x = x1 + first * dx + 0.5, y = y1 + first * dy + 0.5;
    for (let k = first; k <= last; ++k, x += dx, y += dy) pixels[(y | 0) * width + (x | 0)] = pixel;
  }
}
