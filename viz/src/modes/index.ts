// All modes, in the order of their tabs.
import { box } from './box/index';
import { expression } from './expression/index';
import { film } from './film/index';
import { kernel } from './kernel/index';
import { layouts } from './layouts/index';
import { live } from './live/index';
import { movement } from './movement/index';
import { shape } from './shape/index';
import { symbolic } from './symbolic/index';
import { tour } from './tour/index';
import type { Mode } from './mode';

export const MODES: readonly Mode[] = [box, shape, expression, movement, layouts, kernel, film, symbolic, live, tour];
