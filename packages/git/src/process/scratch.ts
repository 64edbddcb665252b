import { mkdir, mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { ObjectFormat } from './object-format.ts'

/** `standing` belongs to a pooled git process and exists as long as the process. */
type Purpose = 'scratch' | 'standing'

/** Runs `work` with a temporary folder in the repository, from which kept objects can be renamed. */
export async function withScratch<T>(repositoryDir: string, work: (dir: string) => Promise<T>): Promise<T> {
  const dir = await makeScratch(repositoryDir)
  try {
    return await work(dir)
  } finally {
    await removeScratch(dir)
  }
}

export function makeScratch(repositoryDir: string, purpose: Purpose = 'scratch'): Promise<string> {
  return mkdtemp(join(repositoryDir, `svc-${purpose}-${process.pid}-`))
}

/** The repository that contains this scratch folder. Returns other folders unchanged. */
export function repositoryOfScratch(dir: string): string {
  return dir.replace(/\/svc-(?:scratch|standing)-\d+-.*$/s, '')
}

export async function removeScratch(dir: string): Promise<void> {
  await rm(dir, { recursive: true, force: true, maxRetries: 2 })
}

/** Removes folders of killed processes. */
export async function sweepScratch(repositoryDir: string): Promise<void> {
  for (const name of await readdir(repositoryDir)) {
    const pid = Number(/^svc-(?:scratch|standing)-(\d+)-/.exec(name)?.[1] ?? 0)
    const dir = join(repositoryDir, name)
    if (pid === 0) continue
    if (pid === process.pid ? await isEarlier(dir) : !isAlive(pid)) await removeScratch(dir)
  }
}

/** In a container, each start of a server has the same process id. */
async function isEarlier(dir: string): Promise<boolean> {
  const found = await stat(dir).catch(() => null)
  return found !== null && found.mtimeMs < performance.timeOrigin
}

/** Identifies a folder, since one that is created again has the same path. null: there is none. */
export async function placeOf(dir: string): Promise<string | null> {
  const found = await stat(dir).catch(() => null)
  return found && `${found.ino} ${found.birthtimeMs}`
}

/** Whether such a process exists. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

/** The environment that makes git write objects to `dir/objects` and also read the repository's objects. */
export async function borrowObjects(
  repositoryDir: string,
  dir: string,
): Promise<Record<string, string> & { GIT_OBJECT_DIRECTORY: string }> {
  const objects = join(dir, 'objects')
  await mkdir(objects, { recursive: true })
  return {
    GIT_OBJECT_DIRECTORY: objects,
    GIT_ALTERNATE_OBJECT_DIRECTORIES: quoteForList(join(repositoryDir, 'objects')),
  }
}

/** Creates a bare repository without refs that borrows all objects of another one. The caller sets its HEAD. */
export async function makeRoom(
  room: string,
  { borrowsFrom, format }: { borrowsFrom: string; format: ObjectFormat },
): Promise<void> {
  const version =
    format === 'sha256'
      ? '\trepositoryformatversion = 1\n[extensions]\n\tobjectformat = sha256\n[core]\n'
      : '\trepositoryformatversion = 0\n'
  await mkdir(join(room, 'objects/info'), { recursive: true })
  await mkdir(join(room, 'objects/pack'))
  await mkdir(join(room, 'refs/heads'), { recursive: true })
  await writeFile(join(room, 'config'), `[core]\n${version}\tbare = true\n`)
  await writeFile(join(room, 'objects/info/alternates'), `${join(borrowsFrom, 'objects')}\n`)
}

/** The list is separated by colons; a path in double quotes may contain them. */
function quoteForList(path: string): string {
  return `"${path.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`
}
