import { count } from '@svc/contract/count'
import type { ChangeRequest, MergePreview } from '@svc/sdk'
import { isDraft } from '@svc/contract/schemas/change-request-moves'
import { cyan, dim, green, type Piece, red, yellow } from '../../terminal/output.ts'
import { quote } from '../../arguments/shell-word.ts'

/** A session's branch name is too long to read; eight characters identify it. */
export function branch(name: string, terminal: boolean): string {
  return terminal && /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{22}$/i.test(name) ? name.slice(0, 8) : name
}

export function shortSha(sha: string | null): string {
  return sha === null ? 'unknown' : sha.slice(0, 10)
}

export function statusPiece(cr: Pick<ChangeRequest, 'status' | 'metadata'>): Piece {
  const { status } = cr
  if (status === 'open' && isDraft(cr)) return dim('draft')
  if (status === 'open') return green(status)
  return status === 'merged' ? cyan(status) : dim(status)
}

/** `of`: the change request that is previewed. */
export function previewLines(
  preview: MergePreview,
  of?: Pick<ChangeRequest, 'missing_ref'>,
): { verdict: Piece; files: readonly string[] } {
  const files = preview.conflicts
  if (of?.missing_ref != null)
    return { verdict: red(`the branch ${of.missing_ref} was deleted; push it again, or close this`), files: [] }
  if (!preview.can_merge) return { verdict: red(`conflicts in ${count(files.length, 'file')}`), files }
  if (preview.is_up_to_date)
    return { verdict: yellow('nothing to merge: the base has every commit of the head'), files: [] }
  if (preview.can_fast_forward) return { verdict: green('clean: fast-forward'), files: [] }
  const unrelated = preview.merge_base === null ? ' (the branches share no history)' : ''
  return { verdict: green(`clean: merge commit${unrelated}`), files: [] }
}

const filesShown = 5

/** Open change requests that would conflict after this merge. */
export function collisionLines({ collisions = [], collisions_truncated }: MergePreview): readonly string[] {
  return [
    ...collisions.map(({ number, files }) => {
      const more = files.length - filesShown
      return `collides with #${number}: ${files.slice(0, filesShown).join(', ')}${more > 0 ? ` and ${more} more` : ''}`
    }),
    ...(collisions_truncated ? ['collisions: only the newest open change requests were compared'] : []),
  ]
}

export function recoverySteps(cr: Pick<ChangeRequest, 'number' | 'base_ref' | 'head_ref'>): readonly string[] {
  return [
    `git fetch origin && git switch ${quote(cr.head_ref)} && git merge ${quote(`origin/${cr.base_ref}`)}`,
    // `git add --all` would add untracked files, such as a link file, to the merge.
    'git commit --all',
    'git push origin HEAD',
    `svc cr show ${cr.number}`,
  ]
}
