// Where a film is and how it runs. While it runs, the place is a signal; where it rests, the link says it.
import { signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { param, update } from '../../state';

/** Accesses a second. */
export const SPEEDS = [4, 16, 64, 256, 1024, 8192, 65536] as const;

const running = signal<number | null>(null);
let saving = 0;

export const speed = (): number => Number(param('speed', '64')) || 64;

/** The place: a count of accesses that were made. Without a word in the link, the whole run. */
export function place(count: number): number {
  const said = param('at');
  const at = running.value ?? (said === '' ? count : Number(said) || 0);
  return Math.max(0, Math.min(count, Math.floor(at)));
}

/** Goes to a place; a browser takes few changes of its link a second, so it is told of the last. */
export function seek(at: number, count: number): void {
  const to = Math.max(0, Math.min(count, Math.floor(at)));
  running.value = to;
  clearTimeout(saving);
  saving = window.setTimeout(() => rest(to, count), 200);
}

function rest(at: number, count: number): void {
  update({ at: at === count ? undefined : String(at) }, 'film');
  playing.value = false;
  running.value = null;
}

const playing = signal(false);
export const plays = (): boolean => playing.value;

export function play(count: number): void {
  const from = place(count);
  clearTimeout(saving);
  running.value = from >= count ? 0 : from;
  playing.value = true;
}

export function pause(count: number): void {
  if (playing.peek()) rest(place(count), count);
}

/** Runs the film while it plays. */
export function useFilm(count: number): void {
  const on = playing.value, rate = speed();
  useEffect(() => {
    if (!on) return;
    let before = performance.now(), at = running.peek() ?? 0, frame = 0;
    const step = (now: number): void => {
      if (!playing.peek()) return;
      at += ((now - before) * rate) / 1000;
      before = now;
      running.value = Math.min(count, at);
      if (at >= count) rest(count, count);
      else frame = requestAnimationFrame(step);
    };
    frame = requestAnimationFrame(step);
    return () => cancelAnimationFrame(frame);
  }, [on, rate, count]);
  // A film of another kernel, or none any more.
  useEffect(
    () => () => {
      clearTimeout(saving);
      playing.value = false;
      running.value = null;
    },
    [],
  );
}
