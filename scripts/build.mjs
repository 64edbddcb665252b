// Builds the one program, dist/svc, when a source is newer than the last build.
import { createHash } from 'node:crypto'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { findBun } from './bun.mjs'
import { buildDashboard, pack } from './dashboard.mjs'
import { buildDocs, docsPack } from './docs/build.mjs'
import { isMain, main, root, runQuietly, step } from './console.mjs'
import { ensureInstalled } from './install.mjs'

export const program = join(root, 'dist/svc')
const stampFile = join(root, 'dist/.svc-built-from')
const pagesStampFile = join(root, 'dist/.pages-built-from')
const docsStampFile = join(root, 'dist/.docs-built-from')

export async function ensureBuilt() {
  await ensurePages()
  await ensureDocs()
  const stamp = sourceStamp()
  if (existsSync(program) && existsSync(stampFile) && readFileSync(stampFile, 'utf8') === stamp) return
  await step('Building dist/svc', () => build(stamp))
}

/** The program embeds the pages, so they are built first. */
async function ensurePages() {
  const stamp = stampOf(['dashboard', 'contract'], ['scripts/dashboard.mjs', 'packages/dashboard/vite.config.ts'])
  if (existsSync(pack) && existsSync(pagesStampFile) && readFileSync(pagesStampFile, 'utf8') === stamp) return
  await step('Building the pages', async () => {
    rmSync(pagesStampFile, { force: true })
    await buildDashboard()
    writeFileSync(pagesStampFile, stamp)
  })
}

/**
 * The program carries the docs site too. */
async function ensureDocs() {
  const stamp = stampOf(['contract'], docsFiles())
  if (existsSync(docsPack) && existsSync(docsStampFile) && readFileSync(docsStampFile, 'utf8') === stamp) return
  await step('Building the docs site', async () => {
    rmSync(docsStampFile, { force: true })
    await buildDocs()
    writeFileSync(docsStampFile, stamp)
  })
}

function docsFiles() {
  const inRoot = readdirSync(root).filter((name) => name.endsWith('.md'))
  const inFolders = ['docs', 'scripts/docs'].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true }).map((path) => `${folder}/${path}`),
  )
  return ['package.json', ...inRoot, ...inFolders.filter((path) => !/\.test\.\w+$/.test(path))].sort()
}

/** Built under another name and renamed, so that a running program keeps its file and a failed build keeps the last good one.
 */
async function build(stamp) {
  mkdirSync(join(root, 'dist'), { recursive: true })
  const aside = mkdtempSync(join(root, 'dist/.build-'))
  try {
    await compile(join(aside, 'svc'))
    rmSync(stampFile, { force: true })
    renameSync(join(aside, 'svc'), program)
    writeFileSync(stampFile, stamp)
  } finally {
    rmSync(aside, { recursive: true, force: true })
  }
}

/** Builds the one program. `more` holds the flags for another platform. */
export async function compile(outfile, more = []) {
  const flags = [
    '--compile',
    '--format=esm',
    '--bytecode',
    '--splitting',
    '--minify',
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
  const values = { SVC_VERSION: JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).version }
  for (const name of ['SVC_CLOUD_URL', 'SVC_INTERNAL_URL']) {
    if (process.env[name]) values[name] = process.env[name]
  }
  return values
}

function sourceStamp() {
  const packages = readdirSync(join(root, 'packages')).filter((name) => name !== 'dashboard')
  return stampOf(packages, ['scripts/build.mjs', 'dist/.pages-built-from', 'dist/.docs-built-from'])
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
  })
}
