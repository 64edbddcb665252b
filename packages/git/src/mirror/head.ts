import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { orIfAbsent } from '../process/absent.ts'
import { isDiskFull } from '../process/disk-full.ts'
import { git } from '../process/git.ts'
import { withLock } from '../process/keyed-lock.ts'
import { requireBranchName } from '../refs/branch-name.ts'
import { pastOrphanedLocks } from '../refs/orphaned-locks.ts'
import type { Repository } from '../repository.ts'

/** Points HEAD at a branch: a clone checks it out, and git refuses to delete it. Costs one small read when it does so already. */
export async function setHead(dir: string, branch: string): Promise<void> {
  const target = `refs/heads/${requireBranchName(branch)}`
  const namesOther = async () => {
    const text = await readFile(join(dir, 'HEAD'), 'utf8').catch(orIfAbsent(''))
    // git can write to no repository whose HEAD is lost. The checks of repositories report that.
    return text.startsWith('ref: ') && text !== `ref: ${target}\n`
  }
  if (!(await namesOther())) return
  // git gives up when another git sets HEAD at the same time.
  await withLock(join(dir, 'HEAD'), async () => {
    if (await namesOther()) await pastOrphanedLocks(dir, () => git(dir, ['symbolic-ref', 'HEAD', target]))
  })
}

/** Makes HEAD of a managed repository name its default branch. A mirror gets its HEAD with the tips of its host. */
export async function followDefaultBranch({ dir, remote, defaultBranch }: Repository): Promise<void> {
  if (remote === null && defaultBranch !== undefined) await setHead(dir, defaultBranch).catch(unlessFull)
}

/** On a full disk, a clone of another branch is better than none. */
function unlessFull(error: unknown): void {
  if (!isDiskFull(error)) throw error
}
