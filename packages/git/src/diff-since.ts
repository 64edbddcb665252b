import { compareTrees, type Compared, type DiffPair } from './diff.ts'
import { splitFields } from './fields.ts'
import { git, GitError, gitLine } from './git.ts'
import { writeCommit } from './loose-object.ts'
import { conflictedFiles } from './merge-conflicts.ts'
import { withMending } from './mirror-repair.ts'
import { mergeBase } from './refs.ts'
import { isSha, requireSha, type CallOptions, type Repository, type Sha } from './repository.ts'
import { borrowObjects, withScratch } from './scratch.ts'
import { SharedAnswers } from './shared-answers.ts'

export interface SincePair extends DiffPair {
  /** A head that somebody saw. It need not be part of the head that there is now. */
  sinceSha: Sha
}

export interface DiffSince extends Compared {
  /** The head left the base somewhere else than it did then; what the base got in between is left out. */
  base_moved: boolean
  /** Files in which the base and the head of then meet: the comparison starts from both, between conflict markers. */
  conflicts: string[]
}

const answers = new SharedAnswers<DiffSince>(
  32 * 1024 * 1024,
  (diff) => 500 + 2 * diff.patch.length + 200 * (diff.files.length + diff.whitespace_only.length),
)

/**
 * What the work on a branch became, between a head that was and the head that is. Where the branch took in more of its
 * base in between, by a merge or a rebase, the head of then is merged with that first, so that the work alone is told.
 */
export function diffSince(repo: Repository, pair: SincePair, options: CallOptions = {}): Promise<DiffSince> {
  const shas = [pair.baseSha, pair.headSha, pair.sinceSha].map(requireSha).join('')
  const key = `${repo.dir}\0${shas}${pair.renames ? 'R' : ''}${pair.ignoreWhitespace ? 'W' : ''}`
  return answers.get(key, options, () => withMending(repo, () => workOut(repo, pair)))
}

/** Where the head of then and the head of now left the base, when these are two places. */
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
 * The tree of `since` had it left the base where the head did. Files that conflict are in it with their markers.
 * git finds the ancestor of a merge itself (only from 2.40 on it can be told), so it gets three commits made for this,
 * of which there is no other.
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
  // 1: conflicts. Everything else throws.
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
