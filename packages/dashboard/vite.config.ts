import tailwind from '@tailwindcss/vite'
import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'

/** The pages as files with their content's hash in their name. `scripts/dashboard.mjs` packs them for the server. */
export default defineConfig({
  root: 'src',
  base: '/',
  // What is drawn is made visible on its way: src/drawn.
  plugins: [react({ jsxImportSource: '@svc/dashboard/drawn' }), tailwind()],
  build: {
    outDir: '../../../dist/dashboard',
    emptyOutDir: true,
    assetsDir: 'assets',
    // A data: URL would need a hole in the Content-Security-Policy.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    target: 'es2023',
    chunkSizeWarningLimit: 4000,
  },
  worker: { format: 'es' },
})
