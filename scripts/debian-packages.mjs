// Debian packages that tests need without an installation, because installing one starts its service.
import { readdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { aside, findProgram, runQuietly, step } from './console.mjs'

/** Gives `keep` the folder of the unpacked packages. Never fails: tests that need them are skipped and counted. */
export async function unpackForTests(what, names, keep) {
  if (findProgram('apt-get') === null || findProgram('dpkg-deb') === null) return
  try {
    await step(`Unpacking ${what} for the tests`, () =>
      aside(tmpdir(), async (dir) => keep(await unpackDebianPackages(names, dir))),
    )
  } catch (error) {
    console.error(error.message.split('\n').at(-1))
  }
}

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
