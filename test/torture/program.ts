/** The built program with its failpoints, beside a stand-in for the agent runtime. */
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { madeOncePerRun } from '../../packages/server/src/db/testing-cluster.ts'
import { buildProgram, compile, programOf } from '../../packages/server/src/startup/testing-program.ts'

/**
 * The path of the program. The files of a test run share it; a single file builds it in `dir`. Sandboxes start from a program,
 * never from sources.
 */
export async function buildTortureProgram(dir: string): Promise<string> {
  const shared = await madeOncePerRun('torture-program', async (path) => void (await build(path)))
  return shared === null ? await build(dir) : join(shared, 'dist/svc')
}

/** For servers without sandboxes; without a program they run from source. */
export async function sharedTortureProgram(): Promise<{ program?: string }> {
  const [program, ...source] = await programOf('svc')
  return program === undefined || source.length > 0 ? {} : { program }
}

async function build(dir: string): Promise<string> {
  const program = await buildProgram(dir)
  const architecture = process.arch === 'arm64' ? 'arm64' : 'x64'
  const runtimeDir = join(dir, `node_modules/opencode-linux-${architecture}/bin`)
  await mkdir(runtimeDir, { recursive: true })
  await compile(join(import.meta.dir, 'stand-in-runtime.ts'), join(runtimeDir, 'opencode'))
  return program
}
