// Colours that people who see colours differently can tell apart: Okabe and Ito's eight for kinds, cividis for amounts.
import { signal } from '@preact/signals';

/** Okabe, Ito 2008: orange, sky blue, bluish green, yellow, blue, vermilion, reddish purple, grey. */
export const KINDS = ['#e69f00', '#56b4e9', '#009e73', '#f0e442', '#0072b2', '#d55e00', '#cc79a7', '#999999'] as const;

/** The colour of kind `n`: the eight, then lighter and darker ones of the same hues. */
export function kindColour(n: number): string {
  const base = KINDS[((n % 8) + 8) % 8] ?? KINDS[0];
  const round = Math.floor(n / 8) % 4;
  return round === 0 ? base : mix(base, round % 2 === 1 ? '#ffffff' : '#000000', round < 2 ? 0.4 : 0.3);
}

// Nunez, Anderton, Renslow 2018: cividis, at nine places.
const CIVIDIS = ['#00224e', '#123570', '#3b496c', '#575d6d', '#707173', '#8a8678', '#a59c74', '#c3b369', '#fee838'];

/** The colour of an amount in [0, 1]. */
export function amountColour(t: number): string {
  const clamped = Math.min(1, Math.max(0, t)) * (CIVIDIS.length - 1);
  const at = Math.min(CIVIDIS.length - 2, Math.floor(clamped));
  return mix(CIVIDIS[at] ?? '#000000', CIVIDIS[at + 1] ?? '#000000', clamped - at);
}

export function parseColour(text: string): [number, number, number] {
  const n = parseInt(text.slice(1), 16);
  return [(n >> 16) & 255, (n >> 8) & 255, n & 255];
}

/** Between two colours `#rrggbb`. */
export function mix(a: string, b: string, t: number): string {
  const [p, q] = [parseColour(a), parseColour(b)];
  const out = p.map((v, i) => Math.round(v + ((q[i] ?? 0) - v) * t));
  return '#' + out.map((v) => v.toString(16).padStart(2, '0')).join('');
}

/** Black or white, whichever is read better on `colour` (WCAG 2.1's contrast). */
export function inkOn(colour: string): string {
  const [r, g, b] = parseColour(colour).map((v) => {
    const s = v / 255;
    return s <= 0.04045 ? s / 12.92 : ((s + 0.055) / 1.055) ** 2.4;
  }) as [number, number, number];
  return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.179 ? '#000000' : '#ffffff';
}

const AMOUNTS = Array.from({ length: 256 }, (_, i) => amountColour(i / 255));
const packed = (colour: string): number => {
  const [r, g, b] = parseColour(colour);
  return ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0; // little-endian RGBA, as ImageData has it
};
const pixels = new Map<string, number>();
/** The same for a picture that asks for few colours often. */
export function pixelOf(colour: string): number {
  const known = pixels.get(colour);
  if (known !== undefined) return known;
  const pixel = packed(colour);
  pixels.set(colour, pixel);
  return pixel;
}
const PACKED_AMOUNTS = Uint32Array.from(AMOUNTS, packed);

/** How addresses get colours: amounts over a range, or kinds. */
export interface Shade {
  colour(address: number): string;
  /** The same as a pixel of ImageData. */
  pixel(address: number): number;
}

/** By amount over [least, most]. */
export function amountShade(least: number, most: number): Shade {
  const scale = most > least ? 255 / (most - least) : 0;
  const at = (address: number): number => Math.min(255, Math.max(0, Math.round((address - least) * scale)));
  return { colour: (a) => AMOUNTS[at(a)] ?? '#000000', pixel: (a) => PACKED_AMOUNTS[at(a)] ?? 0 };
}

/** By kind: `kind` of an address is a small number. */
export function kindShade(kind: (address: number) => number): Shade {
  const pixels = Uint32Array.from({ length: 32 }, (_, i) => packed(kindColour(i)));
  return {
    colour: (a) => kindColour(kind(a)),
    pixel: (a) => pixels[((kind(a) % 32) + 32) % 32] ?? 0,
  };
}

export interface Theme {
  readonly paper: string;
  readonly ink: string;
  readonly faint: string;
  readonly line: string;
  readonly masked: string;
  readonly accent: string;
}
const LIGHT: Theme = { paper: '#ffffff', ink: '#1b1f24', faint: '#59636e', line: '#c8cfd6', masked: '#e9ecef', accent: '#b00068' };
const DARK: Theme = { paper: '#15191e', ink: '#e6e9ec', faint: '#9aa5b1', line: '#3a434d', masked: '#262d35', accent: '#ff7ac0' };

/** `light`, `dark`, or as the system says. The choice stays in this browser. */
const asked = signal<string>(stored() ?? 'system');
const system = matchMedia('(prefers-color-scheme: dark)');
const systemIsDark = signal(system.matches);
system.addEventListener('change', (e) => (systemIsDark.value = e.matches));

function stored(): string | null {
  try {
    return localStorage.getItem('strata-theme');
  } catch {
    return null; // a browser that keeps nothing for pages from disk
  }
}

export const isDark = (): boolean => asked.value === 'dark' || (asked.value === 'system' && systemIsDark.value);
export const theme = (): Theme => (isDark() ? DARK : LIGHT);
export function toggleTheme(): void {
  asked.value = isDark() ? 'light' : 'dark';
  try {
    localStorage.setItem('strata-theme', asked.value);
  } catch {
    return; // the choice holds until the page is closed
  }
}
