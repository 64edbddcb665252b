// `npm run test:container` tests the container driver with a real engine: Debian's dockerd, unpacked rather than installed,
// because an installation would start an engine for the whole machine. Once unpacked, `npm test` uses it as well.
import { cpSync, existsSync, readdirSync, renameSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { spawnSync } from 'node:child_process'
import { findBun } from './bun.mjs'
import { ensureBuilt } from './build.mjs'
import { aside, findProgram, main, root, step } from './console.mjs'
import { unpackDebianPackages } from './debian-packages.mjs'
import { ensureInstalled } from './install.mjs'
import { ensureMachine } from './machine.mjs'

/** packages/sandbox/src/container/testing-engine.ts looks here. */
const folder = join(root, 'node_modules/.cache/container-engine')
const packages = ['docker.io', 'containerd', 'runc', 'tini', 'libdevmapper1.02.1']

await main(async () => {
  await ensureInstalled()
  if (findProgram('dockerd') === null && !existsSync(folder)) await step('Unpacking a container engine', unpack)
  await ensureMachine()
  await ensureBuilt()
  const args = ['test', '--timeout=180000', './packages/sandbox/src/container', './test/e2e/restart-container.test.ts']
  return spawnSync(findBun(), args, { cwd: root, stdio: 'inherit' }).status ?? 1
})

function unpack() {
  return aside(tmpdir(), async (dir) => {
    const files = await unpackDebianPackages(packages, dir)
    const libraries = join(files, 'lib')
    // Gathers libraries in one folder, whatever the machine calls its own.
    for (const name of existsSync(libraries) ? readdirSync(libraries) : [])
      if (name.endsWith('-linux-gnu'))
        cpSync(join(libraries, name), libraries, { recursive: true, verbatimSymlinks: true })
    // Written last and atomically, because its presence means that the rest is complete.
    const complete = `${folder}.${process.pid}`
    cpSync(files, complete, { recursive: true, verbatimSymlinks: true })
    renameSync(complete, folder)
  })
}
