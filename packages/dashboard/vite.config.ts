import tailwind from '@tailwindcss/vite'
import react from '@vitejs/plugin-react'
import { join } from 'node:path'
import { defineConfig, type Plugin, type Rolldown } from 'vite'

const source = join(import.meta.dirname, 'src')

/** The pages as files with their content's hash in their name. `scripts/dashboard.mjs` packs them for the server. */
export default defineConfig({
  root: 'src',
  base: '/',
  // What is drawn is made visible on its way: src/drawn.
  plugins: [react({ jsxImportSource: '@svc/dashboard/drawn' }), tailwind(), aheadFirst(), compiledWhole()],
  build: {
    outDir: '../../../dist/dashboard',
    emptyOutDir: true,
    assetsDir: 'assets',
    // A data: URL would need a hole in the Content-Security-Policy.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    target: 'es2023',
    chunkSizeWarningLimit: 4000,
    rolldownOptions: {
      input: { index: join(source, 'index.html'), ahead: join(source, 'ahead.ts') },
    },
  },
  worker: { format: 'es' },
})

/** Written into the document by itself, src/ahead.ts would become part of the one script that it is to be ahead of. */
function aheadFirst(): Plugin {
  return {
    name: 'ahead-first',
    transformIndexHtml: {
      order: 'post',
      handler(html, { bundle = {} }) {
        const ahead = entries(bundle).find(({ name }) => name === 'ahead')
        if (ahead === undefined) throw new Error('src/ahead.ts was not built.')
        const script = { type: 'module', async: true, crossorigin: true, src: `/${ahead.fileName}` }
        const preload = { rel: 'modulepreload', crossorigin: true }
        return [
          { tag: 'script', attrs: script, injectTo: 'head-prepend' },
          ...withImports(bundle, [ahead])
            .filter(({ fileName }) => fileName !== ahead.fileName && !html.includes(fileName))
            .map(({ fileName }) => ({
              tag: 'link',
              attrs: { ...preload, href: `/${fileName}` },
              injectTo: 'head' as const,
            })),
        ]
      },
    },
  }
}

/**
 * What every page begins with is nearly all run at once, so the browser is told to compile it whole, beside the page's own
 * thread. Without that a third of what this thread does before the first paint is compiling one function after the other.
 */
function compiledWhole(): Plugin {
  return {
    name: 'compiled-whole',
    generateBundle: {
      order: 'post',
      handler(_options, bundle) {
        for (const chunk of withImports(bundle, entries(bundle)))
          chunk.code = `//# allFunctionsCalledOnLoad\n${chunk.code}`
      },
    },
  }
}

type Bundle = Rolldown.OutputBundle

function entries(bundle: Bundle): Rolldown.OutputChunk[] {
  return Object.values(bundle).filter((file) => file.type === 'chunk' && file.isEntry) as Rolldown.OutputChunk[]
}

/** What a file imports at its top comes with it. */
function withImports(bundle: Bundle, chunks: Rolldown.OutputChunk[]): Rolldown.OutputChunk[] {
  const all = new Set(chunks)
  // It grows while it is walked.
  for (const { imports } of all)
    for (const file of imports) {
      const chunk = bundle[file]
      if (chunk?.type === 'chunk') all.add(chunk)
    }
  return [...all]
}
