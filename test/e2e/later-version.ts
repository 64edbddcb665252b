/** Builds later versions of the program, with migrations that this one does not know. */
import { cp, mkdir, readdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { root, run } from './harness.ts'

export class LaterVersion {
  readonly #dir: string

  private constructor(dir: string) {
    this.#dir = dir
  }

  /** Copies the sources. Installed packages are shared, except for links to the sources. */
  static async begin(dir: string): Promise<LaterVersion> {
    await mkdir(join(dir, 'node_modules/@svc'), { recursive: true })
    for (const name of ['packages', 'scripts', 'tsconfig.json', 'dist/dashboard.pack', 'dist/docs.pack'])
      await cp(join(root, name), join(dir, name), { recursive: true, verbatimSymlinks: true })
    for (const name of await readdir(join(root, 'node_modules')))
      if (name !== '@svc') await symlink(join(root, 'node_modules', name), join(dir, 'node_modules', name))
    for (const name of await readdir(join(root, 'node_modules/@svc')))
      await symlink(`../../packages/${name}`, join(dir, 'node_modules/@svc', name))
    return new LaterVersion(dir)
  }

  async build(version: string, migrations: Record<string, string>, outfile: string): Promise<void> {
    await writeFile(join(this.#dir, 'package.json'), JSON.stringify({ version, workspaces: ['packages/*'] }))
    for (const [name, sql] of Object.entries(migrations))
      await writeFile(join(this.#dir, 'packages/server/src/db/migrations', name), sql)
    const compile = `await (await import('./scripts/build.mjs')).compile(${JSON.stringify(outfile)})`
    const built = await run(['node', '--input-type=module', '--eval', compile], { cwd: this.#dir })
    if (built.code !== 0) throw new Error(`The later version was not built: ${built.stdout}${built.stderr}`)
  }
}
