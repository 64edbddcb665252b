// `npm run test:container` tests the container driver, and deploy/compose, with a real engine: Debian's dockerd, unpacked
// rather than installed, because an installation would start an engine for the whole machine, and Docker Compose, built from
// its Go module. Once they are there, `npm test` uses them as well.
import { cpSync, existsSync, mkdirSync, readdirSync, renameSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import { spawnSync } from 'node:child_process'
import { findBun } from './bun.mjs'
import { ensureBuilt } from './build.mjs'
import { aside, findProgram, main, root, step } from './console.mjs'
import { unpackDebianPackages } from './debian-packages.mjs'
import { buildGoProgram } from './go-programs.mjs'
import { ensureInstalled } from './install.mjs'
import { ensureMachine } from './machine.mjs'

/** packages/sandbox/src/container/testing-engine.ts looks here. */
const folder = join(root, 'node_modules/.cache/container-engine')
const packages = ['docker.io', 'containerd', 'runc', 'tini', 'libdevmapper1.02.1']
const composeVersion = 'v2.40.3'

await main(async () => {
  await ensureInstalled()
  if (findProgram('dockerd') === null && !existsSync(folder)) await step('Unpacking a container engine', unpack)
  await ensureCompose()
  await ensureMachine()
  await ensureBuilt()
  const tests = ['./packages/sandbox/src/container', './test/e2e/restart-container.test.ts', './test/container']
  const args = ['test', '--timeout=180000', ...tests]
  return spawnSync(findBun(), args, { cwd: root, stdio: 'inherit' }).status ?? 1
})

/** test/container/compose.ts looks here. Not in node_modules, which every change of the packages makes anew. */
async function ensureCompose() {
  const cache = join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'svc-test-container')
  const file = join(cache, `docker-compose-${composeVersion}`)
  if (existsSync(file)) return
  if (findProgram('go') === null)
    return console.error('deploy/compose is not tested: Docker Compose is built with Go, which is not installed.')
  mkdirSync(cache, { recursive: true })
  const module = 'github.com/docker/compose/v2'
  const flags = `-X ${module}/internal.Version=${composeVersion}`
  await step('Building Docker Compose (once, about 10 minutes of processor time)', () =>
    buildGoProgram({ module, command: 'cmd', version: composeVersion, flags, file }),
  )
}

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
