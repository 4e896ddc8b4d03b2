import { defineConfig } from 'vite';
import { enginePlugin } from './plugins/engine-plugin';
import { firstPlugin } from './plugins/first-plugin';
import { onePagePlugin } from './plugins/one-page-plugin';

export default defineConfig({
  esbuild: { jsx: 'automatic', jsxImportSource: 'preact', legalComments: 'none' },
  plugins: [enginePlugin(), firstPlugin(), onePagePlugin()],
  build: {
    target: 'es2022',
    outDir: '../build/viz',
    emptyOutDir: true,
    modulePreload: false,
    cssCodeSplit: false,
    assetsInlineLimit: 1 << 30,
    reportCompressedSize: false,
    chunkSizeWarningLimit: 4096,
    rollupOptions: { output: { inlineDynamicImports: true } },
  },
});
