import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { ObjectFormat } from './object-format.ts'

/** `standing` is of a git that stays: it lives as long as that one, not as long as one question. */
type Purpose = 'scratch' | 'standing'

/**
 * Runs `work` with a folder of its own inside the repository, removed afterwards whatever happens. Inside, because
 * objects that are kept move out of it by rename; ours alone, because nobody else writes into a repository's folder.
 */
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

/** The repository that contains this scratch folder. Any other folder is returned as it is. */
export function repositoryOfScratch(dir: string): string {
  return dir.replace(/\/svc-(?:scratch|standing)-\d+-.*$/s, '')
}

export async function removeScratch(dir: string): Promise<void> {
  await rm(dir, { recursive: true, force: true, maxRetries: 2 })
}

/** Removes what processes that were killed left behind. */
export async function sweepScratch(repositoryDir: string): Promise<void> {
  for (const name of await readdir(repositoryDir)) {
    const pid = Number(/^svc-(?:scratch|standing)-(\d+)-/.exec(name)?.[1] ?? 0)
    if (pid > 0 && pid !== process.pid && !isAlive(pid)) await removeScratch(join(repositoryDir, name))
  }
}

/** Whether there is such a process. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

/** The environment that makes git write objects to `dir/objects` and read them from the repository too. */
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

/** A bare repository without refs, that borrows all objects of another one. Whoever uses it gives it its HEAD. */
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

/** The list is separated by colons; a path in double quotes may hold them. */
function quoteForList(path: string): string {
  return `"${path.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`
}
