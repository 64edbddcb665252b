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

/**
 * Puts src/ahead.ts before everything else, and beside it the names of the files that draw a change request and its parts, of
 * which it asks for those that the address needs. They stand in the document, which is never kept: ahead's own name is.
 */
function aheadFirst(): Plugin {
  return {
    name: 'ahead-first',
    transformIndexHtml: {
      order: 'post',
      handler(html, { bundle = {} }) {
        const ahead = entries(bundle).find(({ name }) => name === 'ahead')
        if (ahead === undefined) throw new Error('src/ahead.ts was not built.')
        if (ahead.imports.length > 0) throw new Error(`src/ahead.ts would wait for ${ahead.imports.join(', ')}.`)
        const filesOf = (page: string) => {
          const module = join(source, 'pages/change-requests', page)
          const chunk = Object.values(bundle).find((file) => 'moduleIds' in file && file.facadeModuleId === module)
          if (chunk?.type !== 'chunk') throw new Error(`${page} is no file of its own.`)
          const chunks = withImports(bundle, [chunk], highlighter)
          const files = chunks.map(({ fileName }) => `/${fileName}`)
          return files.filter((file) => !html.includes(file)).join(' ')
        }
        const attrs = {
          type: 'module',
          async: true,
          crossorigin: true,
          src: `/${ahead.fileName}`,
          'data-detail': filesOf('detail.tsx'),
          'data-conversation': filesOf('conversation-tab.tsx'),
          'data-files': filesOf('files/files-tab.tsx'),
        }
        return [{ tag: 'script', attrs, injectTo: 'head-prepend' }]
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

/** What the diff viewer loads before it draws, one file after the other. */
const highlighter = /^(themes|core|shiki|stream-tokenizer|engine-javascript|github-(dark|light)-high-contrast)$/

/** What a file imports at its top comes with it, and of what it imports later that which is `soon`. */
function withImports(bundle: Bundle, chunks: Rolldown.OutputChunk[], soon?: RegExp): Rolldown.OutputChunk[] {
  const all = new Set(chunks)
  // It grows while it is walked.
  for (const { imports, dynamicImports } of all)
    for (const file of [...imports, ...dynamicImports]) {
      const chunk = bundle[file]
      if (chunk?.type === 'chunk' && (imports.includes(file) || soon?.test(chunk.name))) all.add(chunk)
    }
  return [...all]
}
