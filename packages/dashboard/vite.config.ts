import tailwind from '@tailwindcss/vite'
import react from '@vitejs/plugin-react'
import { join } from 'node:path'
import { defineConfig, type Plugin } from 'vite'

const source = join(import.meta.dirname, 'src')

/** The pages as files with their content's hash in their name. `scripts/dashboard.mjs` packs them for the server. */
export default defineConfig({
  root: 'src',
  base: '/',
  // What is drawn is made visible on its way: src/drawn.
  plugins: [react({ jsxImportSource: '@svc/dashboard/drawn' }), tailwind(), aheadFirst()],
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
        const files = Object.values(bundle)
        const ahead = files.find((file) => file.type === 'chunk' && file.isEntry && file.name === 'ahead')
        if (ahead?.type !== 'chunk') throw new Error('src/ahead.ts was not built.')
        // What a file imports at its top comes with it; the set grows while it is walked.
        const needed = new Set(ahead.imports)
        for (const file of needed) {
          const chunk = bundle[file]
          if (chunk?.type === 'chunk') for (const next of chunk.imports) needed.add(next)
        }
        const script = { type: 'module', async: true, crossorigin: true, src: `/${ahead.fileName}` }
        const preload = { rel: 'modulepreload', crossorigin: true }
        return [
          { tag: 'script', attrs: script, injectTo: 'head-prepend' },
          ...[...needed]
            .filter((file) => !html.includes(file))
            .map((file) => ({ tag: 'link', attrs: { ...preload, href: `/${file}` }, injectTo: 'head' as const })),
        ]
      },
    },
  }
}
