// `npm run test:container`: the container driver with a real engine. Debian's dockerd is unpacked for it, not installed: installed, it
// would start an engine for this whole machine. Once it is there, `npm test` uses it too.
import { cpSync, existsSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { spawnSync } from 'node:child_process'
import { findBun } from './bun.mjs'
import { findProgram, main, root, runQuietly, step } from './console.mjs'
import { ensureInstalled } from './install.mjs'

/** Where packages/sandbox/src/container/testing-engine.ts looks for it. */
const folder = join(root, 'node_modules/.cache/container-engine')
const packages = ['docker.io', 'containerd', 'runc', 'tini', 'libdevmapper1.02.1']

await main(async () => {
  await ensureInstalled()
  if (findProgram('dockerd') === null && !existsSync(folder)) await step('Unpacking a container engine', unpack)
  const args = ['test', '--timeout=180000', './packages/sandbox/src/container']
  return spawnSync(findBun(), args, { cwd: root, stdio: 'inherit' }).status ?? 1
})

async function unpack() {
  const dir = mkdtempSync(join(tmpdir(), 'svc-engine-'))
  try {
    const download = () => runQuietly('apt-get', ['download', ...packages], { cwd: dir, timeout: 300_000 })
    try {
      await download()
    } catch (error) {
      if (process.getuid() !== 0) throw error
      await runQuietly('apt-get', ['update'], { timeout: 300_000 })
      await download()
    }
    for (const file of readdirSync(dir).filter((name) => name.endsWith('.deb')))
      await runQuietly('dpkg-deb', ['-x', join(dir, file), join(dir, 'files')], { timeout: 120_000 })
    const libraries = join(dir, 'files/lib')
    // One place to look for libraries, whatever the machine's own is called.
    for (const name of existsSync(libraries) ? readdirSync(libraries) : [])
      if (name.endsWith('-linux-gnu'))
        cpSync(join(libraries, name), libraries, { recursive: true, verbatimSymlinks: true })
    // Last, and at once: that it is there says that it is whole.
    const aside = `${folder}.${process.pid}`
    cpSync(join(dir, 'files'), aside, { recursive: true, verbatimSymlinks: true })
    renameSync(aside, folder)
  } finally {
    rmSync(dir, { recursive: true, force: true })
  }
}
