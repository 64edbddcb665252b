// Builds the pages and packs them into dist/dashboard.pack, which the program embeds.
import { readdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs'
import { extname, join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { findBun } from './bun.mjs'
import { aside, root, runQuietly } from './console.mjs'

export const pack = join(root, 'dist/dashboard.pack')

const types = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.json': 'application/json',
  '.wasm': 'application/wasm',
  '.woff2': 'font/woff2',
}

/** Packed under another name and renamed, so that a failed build keeps the last good one. */
export function buildDashboard() {
  return aside(join(root, 'dist'), async (folder) => {
    const [vite, pages] = [join(root, 'node_modules/vite/bin/vite.js'), join(folder, 'pages')]
    const home = join(root, 'packages/dashboard')
    await runQuietly(findBun(), [vite, 'build', '--outDir', pages, '--logLevel', 'warn'], { cwd: home })
    writeFileSync(join(folder, 'pack'), packFolder(pages))
    renameSync(join(folder, 'pack'), pack)
  })
}

/** `{ path: { type, gzip } }` as JSON. Compressing here once saves compressing at every request. */
export function packFolder(folder) {
  const files = {}
  for (const path of readdirSync(folder, { recursive: true }).sort()) {
    const file = join(folder, path)
    if (!statSync(file).isFile()) continue
    const type = types[extname(path)]
    if (type === undefined) throw new Error(`${path} has a type of file that scripts/dashboard.mjs does not know.`)
    files[`/${path}`] = { type, gzip: gzipSync(readFileSync(file), { level: 9 }).toString('base64') }
  }
  return JSON.stringify(files)
}
