// Programs for tests that are built from Go modules.
import { renameSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { aside, runQuietly } from './console.mjs'

const buildMs = 3_600_000

export function go(args, cwd) {
  const env = { ...process.env, CGO_ENABLED: '0', GOFLAGS: '-mod=mod' }
  return runQuietly('nice', ['-n', '10', 'go', ...args], { cwd, env, timeout: buildMs })
}

/** `file` appears once it is complete. */
export function buildGoProgram({ module, command, version, flags = '', file }) {
  return aside(tmpdir(), async (dir) => {
    writeFileSync(join(dir, 'go.mod'), 'module svc.test/program\n')
    await go(['get', `${module}/${command}@${version}`], dir)
    await go(['build', '-trimpath', '-ldflags', `-s -w ${flags}`, '-o', `${file}.new`, `${module}/${command}`], dir)
    renameSync(`${file}.new`, file)
  })
}
