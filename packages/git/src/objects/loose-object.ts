import { createHash } from 'node:crypto'
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { mkdir, rename, rmdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { deflateSync } from 'node:zlib'
import { syncPaths } from './durable.ts'
import { objectFormat } from '../process/object-format.ts'
import type { Repository, Sha } from '../repository.ts'
import { isAlive } from '../process/scratch.ts'

/** Whether a live server is writing a file of that name; early versions wrote commits directly into repositories. */
export function isDraftOfLiveServer(path: string): boolean {
  const pid = Number(/tmp_obj_svc-(\d+)-[0-9a-f]+$/.exec(path)?.[1] ?? 0)
  return pid > 0 && isAlive(pid)
}

/** Writes a commit as a loose object into a separate folder, without the 3 ms of `git commit-tree`. */
export async function writeCommit(repo: Repository, text: string, objectsDir: string): Promise<Sha> {
  const body = Buffer.from(text)
  const bytes = Buffer.concat([Buffer.from(`commit ${body.length}\0`), body])
  const sha = createHash(await objectFormat(repo.dir))
    .update(bytes)
    .digest('hex')
  const folder = join(objectsDir, sha.slice(0, 2))
  // Synchronous: for one small file in our own folder that is faster than a thread switch.
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, sha.slice(2)), deflateSync(bytes), { mode: 0o444, flag: 'wx' })
  return sha
}

/**
 * Moves new objects from a separate folder into the repository, and `tip`, which references all others, last. In a
 * managed repository every object must be on the disk before it is visible: after a power cut git would take an empty
 * file for the object and never write it again. All objects are synced together; git would sync them one by one.
 * Returns their ids.
 */
export async function keepLooseObjects(repo: Repository, from: string, tip: Sha): Promise<Sha[]> {
  const folders = readdirSync(from).filter((name) => /^[0-9a-f]{2}$/.test(name))
  const files = folders.flatMap((folder) =>
    readdirSync(join(from, folder)).flatMap((name) => (/^[0-9a-f]{38,62}$/.test(name) ? [`${folder}/${name}`] : [])),
  )
  if (!repo.remote) await syncPaths(files.map((file) => join(from, file)))
  const to = join(repo.dir, 'objects')
  const last = `${tip.slice(0, 2)}/${tip.slice(2)}`
  await Promise.all(files.filter((file) => file !== last).map((file) => moveInto(join(from, file), join(to, file))))
  // git does not write an object again that the repository has: an earlier try made the same commit in the same second.
  if (files.includes(last)) await moveInto(join(from, last), join(to, last))
  // Keeps the folder small for later lookups. Not awaited.
  for (const folder of folders) rmdir(join(from, folder)).catch(folderInUse)
  return files.map((file) => file.replace('/', ''))
}

/** Another merge has put an object into the folder, which then stays. */
function folderInUse(): void {}

const moveTriesMax = 3

async function moveInto(from: string, to: string): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      return await rename(from, to)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || tries === moveTriesMax) throw error
      // No object has this prefix yet, or a git that packs loose objects just removed the empty folder.
      await mkdir(dirname(to), { recursive: true })
    }
  }
}
