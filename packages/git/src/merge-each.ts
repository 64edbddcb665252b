import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { git, GitError } from './git.ts'
import { listAttributeFiles, writeAttributeFiles } from './merge-attributes.ts'
import { filesOf, readStreamed, type StreamedResult } from './merge-conflicts.ts'
import type { MergeResult, MergeTreeInput } from './merge-tree.ts'
import { requireSha, type Repository, type Sha } from './repository.ts'

/**
 * Merges several heads into one commit, each by itself and all in one child: on a large repository most of a merge's
 * time is spent on opening it. The results come in the order of the heads.
 */
export async function mergeEach(
  repo: Repository,
  input: Omit<MergeTreeInput, 'headSha' | 'config'> & { headShas: Sha[] },
): Promise<MergeResult[]> {
  const { headShas, scratch, env } = input
  const baseSha = requireSha(input.baseSha)
  const attributes = await listAttributeFiles(repo, baseSha, env)
  const workTree = attributes.length === 0 ? null : join(scratch, 'work-each')
  if (workTree !== null) {
    await mkdir(workTree, { recursive: true })
    await writeAttributeFiles(repo, attributes, workTree, env)
  }
  const args = ['merge-tree', '--write-tree', '-z', '--messages', '--allow-unrelated-histories', '--stdin']
  const { stdout } = await git(repo.dir, args, {
    input: headShas.map((headSha) => `${baseSha} ${requireSha(headSha)}\n`).join(''),
    env: { ...env, ...(workTree ? { GIT_WORK_TREE: workTree } : {}) },
    ...(workTree ? { cwd: workTree } : {}),
  })
  return readResults(stdout.toString('latin1').split('\0'), headShas.length)
}

function readResults(fields: string[], count: number): MergeResult[] {
  let at = 0
  return Array.from({ length: count }, () => {
    const result = readStreamed(fields, at)
    if (result === null) throw new GitError('exit', 'git merge-tree gave fewer results than it was asked for.')
    at = result.next
    return resultOf(result)
  })
}

export function resultOf({ isClean, treeSha, records, messages }: StreamedResult): MergeResult {
  return isClean ? { kind: 'clean', treeSha } : { kind: 'conflicted', files: filesOf(records, messages) }
}
