// What vite's plugins give the page, for tests in Node: no first answers.
export const virtual = {
  name: 'virtual',
  setup(b) {
    b.onResolve({ filter: /^virtual:/ }, (a) => ({ path: a.path, namespace: 'virtual' }));
    b.onLoad({ filter: /.*/, namespace: 'virtual' }, (a) => ({ contents: a.path === 'virtual:first' ? 'export default []' : 'export default ""' }));
  },
};
