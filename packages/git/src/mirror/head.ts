import { readFile, rename, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { syncPaths } from '../objects/durable.ts'
import { orIfAbsent } from '../process/absent.ts'
import { isDiskFull } from '../process/disk-full.ts'
import { withLock } from '../process/keyed-lock.ts'
import { requireBranchName } from '../refs/branch-name.ts'
import type { Repository } from '../repository.ts'

/** Points HEAD at a branch: a clone checks it out, and git refuses to delete it. Costs one small read when it does so already. */
export async function setHead(dir: string, branch: string): Promise<void> {
  await pointHead(dir, `refs/heads/${requireBranchName(branch)}`)
}

/** Also mends a HEAD that is empty or garbage. git syncs no symbolic ref, so a power cut would leave an empty one on some file systems. */
export async function pointHead(dir: string, ref: string): Promise<void> {
  const [head, text] = [join(dir, 'HEAD'), `ref: ${ref}\n`]
  const isRight = async () => {
    const found = await readFile(head, 'utf8').catch(orIfAbsent(null))
    // Without the file, more may be lost. The checks of repositories report that.
    return found === text || found === null
  }
  if (await isRight()) return
  await withLock(head, async () => {
    if (!(await isRight())) await replaceFile(head, text)
  })
}

/** The file has the earlier text or the new one, also after a power cut. */
async function replaceFile(path: string, text: string): Promise<void> {
  const next = `${path}.new`
  await writeFile(next, text)
  await syncPaths([next])
  await rename(next, path)
  await syncPaths([dirname(path)])
}

/** Makes HEAD of a managed repository name its default branch. A mirror gets its HEAD with the tips of its host. */
export async function followDefaultBranch({ dir, remote, defaultBranch }: Repository): Promise<void> {
  if (remote === null && defaultBranch !== undefined) await setHead(dir, defaultBranch).catch(unlessFull)
}

/** On a full disk, a clone of another branch is better than none. */
function unlessFull(error: unknown): void {
  if (!isDiskFull(error)) throw error
}
