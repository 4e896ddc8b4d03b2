// The page's engine.
import engine from 'virtual:engine';
import script from 'virtual:engine-worker';
import { Client } from './questions';

function openWorker(): Worker {
  const url = URL.createObjectURL(new Blob([script], { type: 'text/javascript' }));
  const worker = new Worker(url);
  URL.revokeObjectURL(url);
  return worker;
}

export const client = new Client(openWorker, engine);
