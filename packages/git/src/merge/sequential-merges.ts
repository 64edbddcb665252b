import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { splitFields } from '../formats/nul-fields.ts'
import { git, GitError } from '../process/git.ts'
import { listAttributeFiles, writeAttributeFiles } from './attributes.ts'
import { filesOf, parseMessages, readStreamed, type StreamedResult } from '../formats/conflicts.ts'
import type { MergeResult, MergeTreeInput } from './merge-tree.ts'
import { requireSha, type Repository, type Sha } from '../repository.ts'

/**
 * Merges several heads into one commit, each separately, in one process: on a large repository a merge spends most of
 * its time opening it. Results are in the order of the heads.
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
  return readResults(await splitFields(stdout), headShas.length)
}

async function readResults(fields: string[], count: number): Promise<MergeResult[]> {
  const results: MergeResult[] = []
  for (let at = 0; results.length < count;) {
    const result = readStreamed(fields, at)
    if (result === null) throw new GitError('exit', 'git merge-tree gave fewer results than it was asked for.')
    at = result.next
    results.push(await resultOf(result))
  }
  return results
}

export async function resultOf({ isClean, treeSha, records, messageFields }: StreamedResult): Promise<MergeResult> {
  if (isClean) return { kind: 'clean', treeSha }
  return { kind: 'conflicted', files: await filesOf(records, await parseMessages(messageFields)) }
}
