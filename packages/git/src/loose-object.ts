import { createHash, randomBytes } from 'node:crypto'
import { mkdir, open, rename, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { deflateSync } from 'node:zlib'
import { objectFormat } from './object-format.ts'
import type { Repository, Sha } from './repository.ts'
import { isAlive } from './scratch.ts'

/** Named so that git takes it for one of its own, and another server on the same folder sees whose it is. */
function draftName(): string {
  return `tmp_obj_svc-${process.pid}-${randomBytes(6).toString('hex')}`
}

/** Whether a file of that name is being written by a server that lives, which no git knows of. */
export function isDraftOfTheLiving(path: string): boolean {
  const pid = Number(/tmp_obj_svc-(\d+)-[0-9a-f]+$/.exec(path)?.[1] ?? 0)
  return pid > 0 && isAlive(pid)
}

/** Writes one commit as a loose object, as `git commit-tree` would, without the 3 ms of starting it. */
export async function writeCommit(
  repo: Repository,
  text: string,
  objectsDir = join(repo.dir, 'objects'),
): Promise<Sha> {
  const body = Buffer.from(text)
  const bytes = Buffer.concat([Buffer.from(`commit ${body.length}\0`), body])
  const sha = createHash(await objectFormat(repo.dir))
    .update(bytes)
    .digest('hex')
  const folder = join(objectsDir, sha.slice(0, 2))
  const path = join(folder, sha.slice(2))
  if (await stat(path).catch(() => null)) return sha
  await mkdir(folder, { recursive: true })
  const draft = join(folder, draftName())
  const file = await open(draft, 'wx', 0o444)
  try {
    await file.writeFile(deflateSync(bytes))
    // A mirror can be fetched again; a managed repository is the truth and must survive a power cut.
    if (!repo.remote) await file.sync()
  } finally {
    await file.close()
  }
  await rename(draft, path)
  return sha
}
