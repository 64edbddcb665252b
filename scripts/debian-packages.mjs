// Debian packages that tests need without an installation, because installing one starts its service.
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { runQuietly } from './console.mjs'

/** Downloads packages into `dir`, unpacks them below `dir/files` and returns that path. */
export async function unpackDebianPackages(names, dir) {
  const download = () => runQuietly('apt-get', ['download', ...names], { cwd: dir, timeout: 300_000 })
  try {
    await download()
  } catch (error) {
    if (process.getuid() !== 0) throw error
    // A new machine or container has no package lists yet.
    await runQuietly('apt-get', ['update'], { timeout: 300_000 })
    await download()
  }
  const files = join(dir, 'files')
  for (const file of readdirSync(dir).filter((name) => name.endsWith('.deb')))
    await runQuietly('dpkg-deb', ['-x', join(dir, file), files], { timeout: 120_000 })
  return files
}
