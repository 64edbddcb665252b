// Builds the docs site: dist/docs for a file host, and dist/docs.pack, which the program carries.
// `npm run docs -- --base /somewhere/` builds it for another place than /docs/, without the pack.
import { createHash } from 'node:crypto'
import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { findBun } from '../bun.mjs'
import { aside, isMain, main, readJson, root, runQuietly, step } from '../console.mjs'
import { packFolder } from '../dashboard.mjs'
import { ensureInstalled } from '../install.mjs'
import { stage } from './stage.mjs'

export const docsPack = join(root, 'dist/docs.pack')
const site = join(root, 'dist/docs')

/** Built aside and renamed, so that a failed build leaves the last good one. */
export function buildDocs(base = '/docs/') {
  return aside(join(root, 'dist'), async (folder) => {
    const [pages, built] = [join(folder, 'pages'), join(folder, 'site')]
    stage(pages, { base, openApi: openApiDocument() })
    const vitepress = join(root, 'node_modules/vitepress/bin/vitepress.js')
    await runQuietly(process.execPath, [vitepress, 'build', pages, '--outDir', built])
    scriptsToFiles(built, base)
    if (base === '/docs/') {
      writeFileSync(join(folder, 'pack'), packFolder(built))
      renameSync(join(folder, 'pack'), docsPack)
    } else {
      // The next `npm run build` builds the site for /docs/ again.
      rmSync(join(root, 'dist/.docs-built-from'), { force: true })
    }
    rmSync(site, { recursive: true, force: true })
    renameSync(built, site)
  })
}

function openApiDocument() {
  const source = `
    import { openApiDocument } from './packages/contract/src/openapi.ts'
    process.stdout.write(JSON.stringify(openApiDocument(${JSON.stringify(readJson('package.json').version)})))`
  return JSON.parse(execFileSync(findBun(), ['-e', source], { cwd: root, maxBuffer: 64 << 20 }))
}

/** VitePress writes two small scripts into each page. As files they run under a policy that allows no inline script. */
function scriptsToFiles(folder, base) {
  for (const path of readdirSync(folder, { recursive: true })) {
    if (!path.endsWith('.html')) continue
    const file = join(folder, path)
    const html = readFileSync(file, 'utf8').replaceAll(
      /<script((?:(?!\ssrc=)[^>])*)>([^<]+)<\/script>/g,
      (_whole, attributes, code) => {
        const name = `assets/inline.${createHash('sha256').update(code).digest('hex').slice(0, 12)}.js`
        writeFileSync(join(folder, name), code)
        return `<script${attributes} src="${base}${name}"></script>`
      },
    )
    writeFileSync(file, html)
  }
}

if (isMain(import.meta.url)) {
  await main(async () => {
    await ensureInstalled()
    const at = process.argv.indexOf('--base')
    await step('Building the docs site', () => buildDocs(at === -1 ? undefined : process.argv[at + 1]))
    console.log(`The site is in ${site}`)
  })
}
