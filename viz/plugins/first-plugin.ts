// Asks the engine, while the page is built, what the page asks first: `virtual:first` holds the answers.
import type { Plugin } from 'vite';
import { loadEngine } from './node-engine';
import { firstRequests } from './first-requests';

export function firstPlugin(): Plugin {
  const name = 'virtual:first';
  return {
    name,
    resolveId: (id) => (id === name ? '\0' + name : null),
    async load(id) {
      if (id !== '\0' + name) return null;
      const engine = await loadEngine();
      const rows = firstRequests(engine).map((request) => {
        const { answer, arrays } = engine.ask(request);
        if (answer.error !== undefined) throw new Error(`${JSON.stringify(request)}: ${answer.error.message}`);
        return [JSON.stringify(request), answer, arrays.map((list) => Array.from(list, (n) => (Number.isNaN(n) ? null : n)))];
      });
      return `export default ${JSON.stringify(rows)}`;
    },
  };
}
