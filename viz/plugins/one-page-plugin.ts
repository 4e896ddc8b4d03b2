// One HTML file: scripts and styles of the build go into it, and nothing is left beside it.
import type { Plugin } from 'vite';
import { JSON_VERSION, sourcesHash } from './sources-hash.mjs';

export function onePagePlugin(): Plugin {
  return {
    name: 'one-page',
    apply: 'build',
    enforce: 'post',
    generateBundle(_, bundle) {
      const page = bundle['index.html'];
      if (page?.type !== 'asset') throw new Error('the build made no index.html');
      let html = String(page.source);
      for (const [name, file] of Object.entries(bundle)) {
        if (name === 'index.html') continue;
        if (file.type === 'chunk') html = replaced(html, scriptOf(name), inlineScript(file.code));
        else if (name.endsWith('.css')) html = replaced(html, styleOf(name), `<style>${String(file.source).replaceAll('</style', '<\\/style')}</style>`);
        else throw new Error(`${name} would lie beside the page`);
        delete bundle[name];
      }
      page.source = html.replace('</head>', () => `  <meta name="strata-viz" content="sources=${sourcesHash()} json=${JSON_VERSION}" />\n  </head>`);
      page.fileName = 'strata.html';
    },
  };
}

const escaped = (name: string): string => name.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
const scriptOf = (name: string): RegExp => new RegExp(`<script type="module"[^>]*src="[^"]*${escaped(name)}"[^>]*></script>`);
const styleOf = (name: string): RegExp => new RegExp(`<link rel="stylesheet"[^>]*href="[^"]*${escaped(name)}"[^>]*>`);
// The text of a script ends at the first closing tag, whatever the language says.
const inlineScript = (code: string): string => `<script type="module">${code.trim().replaceAll('</script', '<\\/script').replaceAll('<!--', '<\\!--')}</script>`;

function replaced(html: string, what: RegExp, by: string): string {
  if (!what.test(html)) throw new Error(`the page does not mention ${what}`);
  return html.replace(what, () => by);
}
