// Builds the one program, dist/svc, when a source is newer than the last build.
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { findBun } from './bun.mjs'
import { buildDashboard, pack } from './dashboard.mjs'
import { buildDocs, docsPack } from './docs/build.mjs'
import { aside, isMain, main, readJson, root, runQuietly, step } from './console.mjs'
import { ensureInstalled } from './install.mjs'

export const program = join(root, 'dist/svc')
const pagesStamp = 'dist/.pages-built-from'
const docsStamp = 'dist/.docs-built-from'

/** The program embeds the pages and the docs site, so they are built first. */
export async function ensureBuilt() {
  const pageFiles = ['scripts/dashboard.mjs', 'packages/dashboard/vite.config.ts']
  await ensure('the pages', pack, pagesStamp, stampOf(['dashboard', 'contract'], pageFiles), buildDashboard)
  await ensure('the docs site', docsPack, docsStamp, stampOf(['contract'], docsFiles()), buildDocs)
  const packages = readdirSync(join(root, 'packages')).filter((name) => name !== 'dashboard')
  const stamp = stampOf(packages, ['scripts/build.mjs', pagesStamp, docsStamp])
  await ensure('dist/svc', program, 'dist/.svc-built-from', stamp, build)
}

/** Makes `product` unless it was made from what the stamp describes. */
async function ensure(what, product, stampPath, stamp, make) {
  const stampFile = join(root, stampPath)
  if (existsSync(product) && existsSync(stampFile) && readFileSync(stampFile, 'utf8') === stamp) return
  await step(`Building ${what}`, async () => {
    rmSync(stampFile, { force: true })
    await make()
    writeFileSync(stampFile, stamp)
  })
}

function docsFiles() {
  const inRoot = readdirSync(root).filter((name) => name.endsWith('.md'))
  const inFolders = ['docs', 'scripts/docs'].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true }).map((path) => `${folder}/${path}`),
  )
  return ['package.json', ...inRoot, ...inFolders.filter((path) => !/\.test\.\w+$/.test(path))].sort()
}

/** Built under another name and renamed, so that a running program keeps its file and a failed build keeps the last good one. */
function build() {
  return aside(join(root, 'dist'), async (folder) => {
    await compile(join(folder, 'svc'))
    renameSync(join(folder, 'svc'), program)
  })
}

/** Builds the one program. `more` holds the flags for another platform. */
export async function compile(outfile, more = []) {
  const flags = [
    '--compile',
    '--format=esm',
    '--bytecode',
    '--splitting',
    // Without the identifiers: the log has the name of an error's class in err.type.
    '--minify-whitespace',
    '--minify-syntax',
    // Without these flags the program would load .env and bunfig.toml from the current folder.
    '--no-compile-autoload-dotenv',
    '--no-compile-autoload-bunfig',
    // Removes code for tests: packages/server/src/failpoint.ts lists it, test/torture/failpoints.test.ts checks that it is
    // gone.
    '--define',
    'SVC_RELEASE=true',
    '--drop=failpoint',
    ...Object.entries(buildValues()).flatMap(([name, value]) => ['--define', `${name}=${JSON.stringify(value)}`]),
    ...more,
  ]
  const entry = join(root, 'packages/svc/src/main.ts')
  await runQuietly(findBun(), ['build', ...flags, '--outfile', outfile, entry], { cwd: dirname(outfile) })
}

/** Constants of the build. A build that does not know its hosts leaves them undefined. */
export function buildValues() {
  const values = { SVC_VERSION: readJson('package.json').version }
  for (const name of ['SVC_CLOUD_URL', 'SVC_INTERNAL_URL']) {
    if (process.env[name]) values[name] = process.env[name]
  }
  return values
}

/** Compares sizes and modification times; hashing every source would slow each start down. */
function stampOf(packages, otherFiles) {
  const hash = createHash('sha256')
  hash.update(JSON.stringify([buildValues(), process.platform, process.arch]))
  const files = ['package-lock.json', 'tsconfig.json', ...otherFiles]
  for (const name of packages.toSorted()) {
    files.push(`packages/${name}/package.json`)
    const sources = join(root, 'packages', name, 'src')
    for (const file of existsSync(sources) ? readdirSync(sources, { recursive: true }).sort() : []) {
      if (!/\.test\.\w+$/.test(file)) files.push(`packages/${name}/src/${file}`)
    }
  }
  for (const file of files) {
    const found = statSync(join(root, file), { throwIfNoEntry: false })
    if (found?.isFile()) hash.update(`${file}\0${found.size}\0${found.mtimeMs}\n`)
  }
  return hash.digest('hex')
}

if (isMain(import.meta.url)) {
  await main(async () => {
    await ensureInstalled()
    await ensureBuilt()
    process.stderr.write(
      'Built dist/svc. Next: npm start, or in the background: ./dist/svc self-host start (a server runs already: ./dist/svc self-host upgrade)\n',
    )
  })
}
