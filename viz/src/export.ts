// What a picture can be saved as. Pictures offer themselves while they are on the page; the menu lists what is offered.
import { signal } from '@preact/signals';
import { theme } from './draw/colours';

export interface Offer {
  readonly svg?: () => string;
  readonly latex?: () => string;
  /** What is shown, as the engine's answer. */
  readonly json?: () => unknown;
}

export const offers = signal<ReadonlyMap<string, Offer>>(new Map());

/** Adds an offer; the function that comes back takes it away. */
export function offer(name: string, what: Offer): () => void {
  offers.value = new Map(offers.peek()).set(name, what);
  return () => {
    const left = new Map(offers.peek());
    left.delete(name);
    offers.value = left;
  };
}

export function save(name: string, content: Blob): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

export const saveText = (name: string, type: string, text: string): void => save(name, new Blob([text], { type }));

/** An SVG text as a PNG of twice its size. */
export async function png(svg: string): Promise<Blob> {
  const picture = new Image();
  picture.src = 'data:image/svg+xml;charset=utf-8,' + encodeURIComponent(svg);
  await picture.decode();
  const canvas = document.createElement('canvas');
  [canvas.width, canvas.height] = [picture.width * 2, picture.height * 2];
  const g = canvas.getContext('2d');
  if (g === null) throw new Error('this browser gives no canvas');
  g.fillStyle = theme().paper;
  g.fillRect(0, 0, canvas.width, canvas.height);
  g.drawImage(picture, 0, 0, canvas.width, canvas.height);
  return await new Promise((resolve, reject) =>
    canvas.toBlob((blob) => (blob === null ? reject(new Error('the picture is too large')) : resolve(blob)), 'image/png'),
  );
}
