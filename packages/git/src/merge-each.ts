import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { git, GitError } from './git.ts'
import { listAttributeFiles, writeAttributeFiles } from './merge-attributes.ts'
import { filesOf, parseMessages } from './merge-conflicts.ts'
import type { MergeResult, MergeTreeInput } from './merge-tree.ts'
import { isSha, requireSha, type Repository, type Sha } from './repository.ts'

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

/** Each result is `<0: conflicts, 1: clean>\0`, what a single merge prints, and an empty field. */
function readResults(fields: string[], count: number): MergeResult[] {
  let at = 0
  return Array.from({ length: count }, () => {
    const [status, treeSha = ''] = [fields[at], fields[at + 1]]
    if ((status !== '0' && status !== '1') || !isSha(treeSha))
      throw new GitError('exit', 'git merge-tree gave other results than it was asked for.')
    const end = fields.indexOf('', at + 2)
    const records = fields.slice(at + 2, end)
    const { messages, next } = parseMessages(fields, end + 1)
    at = next + 1
    return status === '1' ? { kind: 'clean', treeSha } : { kind: 'conflicted', files: filesOf(records, messages) }
  })
}
