// The engine in Node, for the build of the page and for tests. The working folder is viz/.
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { Engine } from '../src/engine/instance';

export const enginePath = (): string => resolve(process.env['STRATA_WASM'] ?? '../build/wasm/strata.wasm');

export const loadEngine = (): Promise<Engine> => Engine.load(readFileSync(enginePath()));
