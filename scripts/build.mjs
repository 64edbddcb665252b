// Builds the one program, dist/svc, when its sources changed since it was built.
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
import { isMain, main, root, runQuietly, step } from './console.mjs'
import { ensureInstalled } from './install.mjs'

export const program = join(root, 'dist/svc')
const stampFile = join(root, 'dist/.svc-built-from')
const pagesStampFile = join(root, 'dist/.pages-built-from')

export async function ensureBuilt() {
  await ensurePages()
  const stamp = sourceStamp()
  if (existsSync(program) && existsSync(stampFile) && readFileSync(stampFile, 'utf8') === stamp) return
  await step('Building dist/svc', () => build(stamp))
}

/** The program carries the pages within it, so they come first. */
async function ensurePages() {
  const stamp = stampOf(['dashboard', 'contract'], ['scripts/dashboard.mjs', 'packages/dashboard/vite.config.ts'])
  if (existsSync(pack) && existsSync(pagesStampFile) && readFileSync(pagesStampFile, 'utf8') === stamp) return
  await step('Building the pages', async () => {
    rmSync(pagesStampFile, { force: true })
    await buildDashboard()
    writeFileSync(pagesStampFile, stamp)
  })
}

/** Built aside and renamed, so that a program that runs keeps its file and a failed build leaves the last good one. */
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

/** The one program. `more` are flags for a platform that is not this one. */
export async function compile(outfile, more = []) {
  const flags = [
    '--compile',
    '--format=esm',
    '--bytecode',
    '--splitting',
    '--minify',
    // Otherwise the program would read .env and bunfig.toml of whatever folder it is called in.
    '--no-compile-autoload-dotenv',
    '--no-compile-autoload-bunfig',
    // What only tests use: packages/server/src/failpoint.ts says what, test/torture/failpoints.test.ts that it is gone.
    '--define',
    'SVC_RELEASE=true',
    '--drop=failpoint',
    ...Object.entries(buildValues()).flatMap(([name, value]) => ['--define', `${name}=${JSON.stringify(value)}`]),
    ...more,
  ]
  const entry = join(root, 'packages/svc/src/main.ts')
  await runQuietly(findBun(), ['build', ...flags, '--outfile', outfile, entry], { cwd: dirname(outfile) })
}

/** What the program is told at build time; the hosts are left undefined in a build that does not know them. */
export function buildValues() {
  const values = { SVC_VERSION: JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).version }
  for (const name of ['SVC_CLOUD_URL', 'SVC_INTERNAL_URL']) {
    if (process.env[name]) values[name] = process.env[name]
  }
  return values
}

function sourceStamp() {
  const packages = readdirSync(join(root, 'packages')).filter((name) => name !== 'dashboard')
  return stampOf(packages, ['scripts/build.mjs', 'dist/.pages-built-from'])
}

/** Every source's size and time of change: reading the files themselves would cost more than it is worth on each start. */
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
