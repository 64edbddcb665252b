import tailwind from '@tailwindcss/vite'
import react from '@vitejs/plugin-react'
import { join } from 'node:path'
import { defineConfig, type Plugin, type Rolldown } from 'vite'

const source = join(import.meta.dirname, 'src')

/** Builds the pages as files with a content hash in their names. `scripts/dashboard.mjs` packs them for the server. */
export default defineConfig({
  root: 'src',
  base: '/',
  // src/ui/sanitizing-jsx makes hidden characters visible.
  plugins: [react({ jsxImportSource: '@svc/dashboard/sanitizing-jsx' }), tailwind(), prefetchFirst(), compiledWhole()],
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
      input: { index: join(source, 'index.html'), prefetch: join(source, 'prefetch/script.ts') },
    },
  },
  worker: { format: 'es' },
})

/**
 * Puts prefetch/script.ts before everything else in the document, with the files that render a change request and its tabs as
 * attributes. The document is never cached, so the attributes always name the current files. The page imports the script as
 * well: both get the same instance.
 */
function prefetchFirst(): Plugin {
  return {
    name: 'prefetch-first',
    transformIndexHtml: {
      order: 'post',
      handler(html, { bundle = {} }) {
        const prefetch = entries(bundle).find(({ name }) => name === 'prefetch')
        if (prefetch === undefined) throw new Error('src/prefetch/script.ts was not built.')
        if (prefetch.imports.length > 0)
          throw new Error(`prefetch/script.ts must load alone, but imports ${prefetch.imports.join(', ')}.`)
        const filesOf = (page: string) => {
          const module = join(source, 'pages/change-requests', page)
          const chunk = Object.values(bundle).find((file) => 'moduleIds' in file && file.facadeModuleId === module)
          if (chunk?.type !== 'chunk') throw new Error(`${page} has no chunk of its own.`)
          const chunks = withImports(bundle, [chunk], highlighter)
          const files = chunks.map(({ fileName }) => `/${fileName}`)
          return files.filter((file) => !html.includes(file)).join(' ')
        }
        const attrs = {
          type: 'module',
          async: true,
          crossorigin: true,
          src: `/${prefetch.fileName}`,
          'data-detail': filesOf('detail.tsx'),
          'data-conversation': filesOf('conversation/conversation-tab.tsx'),
          'data-files': filesOf('files/files-tab.tsx'),
        }
        return [{ tag: 'script', attrs, injectTo: 'head-prepend' }]
      },
    },
  }
}

/**
 * A page runs nearly all of its first chunks at once, so this marks them for the browser to compile whole, off the main thread.
 * Without it, compiling functions one by one takes a third of the main thread's time before the first paint.
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

/** The chunks that the diff viewer loads one after the other before it renders. */
const highlighter = /^(themes|core|shiki|stream-tokenizer|engine-javascript|github-(dark|light)-high-contrast)$/

/** The chunks with their static imports, and those dynamic imports whose name matches `soon`. */
function withImports(bundle: Bundle, chunks: Rolldown.OutputChunk[], soon?: RegExp): Rolldown.OutputChunk[] {
  const all = new Set(chunks)
  // The set grows while the loop walks it.
  for (const { imports, dynamicImports } of all)
    for (const file of [...imports, ...dynamicImports]) {
      const chunk = bundle[file]
      if (chunk?.type === 'chunk' && (imports.includes(file) || soon?.test(chunk.name))) all.add(chunk)
    }
  return [...all]
}
