// All modes, in the order of their tabs.
import { box } from './box/index';
import type { Mode } from './mode';

export const MODES: readonly Mode[] = [box];
