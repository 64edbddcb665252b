import { createHash } from 'node:crypto'
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { mkdir, rename, rmdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { deflateSync } from 'node:zlib'
import { syncPaths } from './durable.ts'
import { objectFormat } from './object-format.ts'
import type { Repository, Sha } from './repository.ts'
import { isAlive } from './scratch.ts'

/** Whether a file of that name is being written by a server that lives, as the first versions wrote commits into repositories. */
export function isDraftOfTheLiving(path: string): boolean {
  const pid = Number(/tmp_obj_svc-(\d+)-[0-9a-f]+$/.exec(path)?.[1] ?? 0)
  return pid > 0 && isAlive(pid)
}

/** Writes one commit as a loose object, as `git commit-tree` would, without the 3 ms of starting it. `objectsDir` is a folder apart. */
export async function writeCommit(repo: Repository, text: string, objectsDir: string): Promise<Sha> {
  const body = Buffer.from(text)
  const bytes = Buffer.concat([Buffer.from(`commit ${body.length}\0`), body])
  const sha = createHash(await objectFormat(repo.dir))
    .update(bytes)
    .digest('hex')
  const folder = join(objectsDir, sha.slice(0, 2))
  // One small file in a folder of our own: written quicker than handed to another thread.
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, sha.slice(2)), deflateSync(bytes), { mode: 0o444, flag: 'wx' })
  return sha
}

/**
 * Moves what was made in a folder apart into the repository, `tip`, which leads to all the others, last. In a managed one
 * nobody may see an object before it is on the disk: after a power cut git would take an empty file for the object, and
 * never write it again. All of them are synced together; git would do it one by one, each waiting for the disk.
 */
export async function keepLooseObjects(repo: Repository, from: string, tip: Sha): Promise<void> {
  const folders = readdirSync(from).filter((name) => /^[0-9a-f]{2}$/.test(name))
  const files = folders.flatMap((folder) =>
    readdirSync(join(from, folder)).flatMap((name) => (/^[0-9a-f]{38,62}$/.test(name) ? [`${folder}/${name}`] : [])),
  )
  if (!repo.remote) await syncPaths(files.map((file) => join(from, file)))
  const to = join(repo.dir, 'objects')
  const last = `${tip.slice(0, 2)}/${tip.slice(2)}`
  await Promise.all(files.filter((file) => file !== last).map((file) => moveInto(join(from, file), join(to, file))))
  await moveInto(join(from, last), join(to, last))
  // So that the next ones are looked for among few folders. Nobody waits for it; one that is in use again stays.
  for (const folder of folders) rmdir(join(from, folder)).catch(() => {})
}

const moveTriesMax = 3

async function moveInto(from: string, to: string): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      return await rename(from, to)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || tries === moveTriesMax) throw error
      // No object begins like this one yet, or a git that packs loose objects just removed the folder that it emptied.
      await mkdir(dirname(to), { recursive: true })
    }
  }
}
