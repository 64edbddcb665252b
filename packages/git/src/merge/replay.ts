import { git } from '../process/git.ts'
import { mergeInScratch } from './merge-tree.ts'
import { type MergeInput, writeMergeCommit } from './merge.ts'
import { mergeBase } from '../refs/refs.ts'
import { isSha, requireSha, type CallOptions, type Repository, type Sha } from '../repository.ts'

export type Replay =
  | { kind: 'up-to-date' | 'fast-forward' | 'merge-commit'; commit: Sha; tree: Sha | null }
  | { kind: 'conflicted'; files: string[] }

/** Repeats a merge from its inputs, in a temporary store, without using the first result. */
export async function replayMerge(repo: Repository, input: MergeInput, options: CallOptions = {}): Promise<Replay> {
  const { baseSha, headSha } = input
  const ancestor = await mergeBase(repo, requireSha(baseSha), requireSha(headSha), options)
  if (ancestor === headSha) return { kind: 'up-to-date', commit: baseSha, tree: await treeOf(repo, baseSha) }
  if (ancestor === baseSha) return { kind: 'fast-forward', commit: headSha, tree: await treeOf(repo, headSha) }
  let commit = ''
  const merged = await mergeInScratch(repo, input, async (treeSha, objectsDir) => {
    commit = await writeMergeCommit(repo, treeSha, input, objectsDir)
  })
  return merged.kind === 'conflicted' ? merged : { kind: 'merge-commit', commit, tree: merged.treeSha }
}

/** The tree of a commit; null when the commit does not exist here. */
export async function treeOf(repo: Repository, sha: Sha): Promise<Sha | null> {
  const { stdout } = await git(repo.dir, ['cat-file', '--batch-check=%(objectname)'], {
    input: `${requireSha(sha)}^{tree}\n`,
  })
  const answer = stdout.toString().trim()
  return isSha(answer) ? answer : null
}

let version: Promise<string> | null = null

/** The version of the git that merges. One that cannot be run is asked again, since it may be installed meanwhile. */
export function gitVersion(): Promise<string> {
  version ??= git(null, ['version']).then(
    ({ stdout }) =>
      stdout
        .toString()
        .trim()
        .replace(/^git version /, ''),
    (error: unknown) => {
      version = null
      throw error
    },
  )
  return version
}
