// Installs the npm packages that package-lock.json lists. Takes a few milliseconds when they are already there.
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { findBun } from './bun.mjs'
import { isMain, main, root, runQuietly, step } from './console.mjs'

export async function ensureInstalled() {
  const why = installReason()
  if (why === null) return
  // Never runs a package's install script; the first start does what the packages need.
  const args = ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--include=dev', '--loglevel=error']
  await step(`Installing the packages (${why})`, () => npm(args))
  if (findBun() === null)
    throw new Error(`npm installed no Bun for ${process.platform}-${process.arch}: this platform is not supported.`)
}

/** npm writes node_modules/.package-lock.json when it has finished. */
function installReason() {
  const installedFile = join(root, 'node_modules/.package-lock.json')
  if (!existsSync(installedFile)) return 'once, about a minute'
  const wanted = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')).packages
  return missingPackage(wanted, JSON.parse(readFileSync(installedFile, 'utf8')).packages)
}

/** The first package that differs from the lock file, or null. An optional package of another platform may be missing. */
export function missingPackage(wanted, installed) {
  for (const [path, { version, integrity, optional, devOptional, link }] of Object.entries(wanted)) {
    // Skips the root, which is not a package, and workspaces, which are links.
    if (!path.startsWith('node_modules/') && !path.includes('/node_modules/')) continue
    const found = installed[path]
    const name = path.split('node_modules/').at(-1)
    if (found === undefined && !optional && !devOptional) return `${name} is missing`
    if (found === undefined || link) continue
    if (found.version !== version || found.integrity !== integrity) return `${name} has changed`
  }
  return findBun() === null ? 'Bun is missing' : null
}

/** The npm that runs this script, or else the one on PATH. */
async function npm(args) {
  const own = process.env.npm_execpath
  if (own !== undefined && /npm-cli\.[cm]?js$/.test(own)) return await runQuietly(process.execPath, [own, ...args])
  return await runQuietly('npm', args)
}

if (isMain(import.meta.url)) await main(ensureInstalled)
