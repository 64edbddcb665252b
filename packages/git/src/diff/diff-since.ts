import { compareTrees, type Compared, type DiffPair } from './diff.ts'
import { splitFields } from '../formats/nul-fields.ts'
import { git, GitError, gitLine } from '../process/git.ts'
import { writeCommit } from '../objects/loose-object.ts'
import { conflictedFiles } from '../formats/conflicts.ts'
import { withMending } from '../mirror/repair.ts'
import { mergeBase } from '../refs/refs.ts'
import { isSha, requireSha, type CallOptions, type Repository, type Sha } from '../repository.ts'
import { borrowObjects, withScratch } from '../process/scratch.ts'
import { SharedAnswers } from '../objects/shared-results.ts'

export interface SincePair extends DiffPair {
  /** An earlier head. It need not be part of the current head. */
  sinceSha: Sha
}

export interface DiffSince extends Compared {
  /** The merge base moved since the earlier head; changes that the base got in between are left out. */
  base_moved: boolean
  /** Files where the base conflicts with the earlier head; both are compared, between conflict markers. */
  conflicts: string[]
}

const answers = new SharedAnswers<DiffSince>(
  32 * 1024 * 1024,
  (diff) => 500 + 2 * diff.patch.length + 200 * (diff.files.length + diff.whitespace_only.length),
)

/**
 * The changes on a branch between an earlier head and the current one. If the branch took in more of its base in
 * between, by a merge or a rebase, the earlier head is first merged with that, so that only the branch's own work is
 * shown.
 */
export function diffSince(repo: Repository, pair: SincePair, options: CallOptions = {}): Promise<DiffSince> {
  const shas = [pair.baseSha, pair.headSha, pair.sinceSha].map(requireSha).join('')
  const key = `${repo.dir}\0${shas}${pair.renames ? 'R' : ''}${pair.ignoreWhitespace ? 'W' : ''}`
  return answers.get(key, options, () => withMending(repo, () => workOut(repo, pair)))
}

/** The merge bases of the earlier and the current head, when they differ. */
export async function movedBase(repo: Repository, pair: SincePair): Promise<{ before: Sha; now: Sha } | null> {
  const before = await mergeBase(repo, pair.baseSha, pair.sinceSha)
  const now = await mergeBase(repo, pair.baseSha, pair.headSha)
  return before === null || now === null || before === now ? null : { before, now }
}

async function workOut(repo: Repository, pair: SincePair): Promise<DiffSince> {
  const moved = await movedBase(repo, pair)
  if (moved === null) return { ...(await compareTrees(repo, pair.sinceSha, pair)), base_moved: false, conflicts: [] }
  return withScratch(repo.dir, async (scratch) => {
    const env = await borrowObjects(repo.dir, scratch)
    const { treeSha, conflicts } = await mergeOnto(repo, { ...moved, since: pair.sinceSha }, env)
    return { ...(await compareTrees(repo, treeSha, pair, env)), base_moved: true, conflicts }
  })
}

/**
 * The tree of `since` as if it had left the base where the current head did. Files with conflicts contain markers.
 * git finds the ancestor of a merge itself (before 2.40 it cannot be given), so this writes three commits with
 * exactly one ancestor.
 */
async function mergeOnto(
  repo: Repository,
  at: { before: Sha; now: Sha; since: Sha },
  env: Record<string, string> & { GIT_OBJECT_DIRECTORY: string },
): Promise<{ treeSha: Sha; conflicts: string[] }> {
  const trees = await gitLine(repo.dir, ['rev-parse', ...[at.before, at.now, at.since].map((sha) => `${sha}^{tree}`)])
  const [treeBefore = '', treeNow = '', treeSince = ''] = trees.split('\n')
  const write = (tree: Sha, parents: Sha[], title: string) =>
    writeCommit(repo, commitText(tree, parents, title), env.GIT_OBJECT_DIRECTORY)
  const ancestor = await write(treeBefore, [], 'before')
  const sides = [await write(treeNow, [ancestor], 'now'), await write(treeSince, [ancestor], 'since')]
  const args = ['merge-tree', '--write-tree', '-z', '--messages', ...sides]
  // 1: conflicts. Other codes throw.
  const { code, stdout, stderr } = await git(repo.dir, args, { accept: [0, 1], env })
  const fields = await splitFields(stdout)
  const treeSha = fields[0] ?? ''
  if (!isSha(treeSha)) throw new GitError('exit', `git merge-tree gave no result: ${stderr.trim()}`, { code, stderr })
  return { treeSha, conflicts: code === 1 ? await conflictedFiles(fields.slice(1)) : [] }
}

function commitText(tree: Sha, parents: Sha[], title: string): string {
  const who = 'svc <noreply@svc.invalid> 0 +0000'
  const head = [`tree ${tree}`, ...parents.map((sha) => `parent ${sha}`), `author ${who}`, `committer ${who}`]
  return `${head.join('\n')}\n\n${title}\n`
}
