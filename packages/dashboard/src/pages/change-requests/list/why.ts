/** The one line of a row that says why it is in its state, and what it touches. */
import { count } from '@svc/contract/count'
import { isDraft } from '@svc/contract/schemas/change-request-moves'
import { shortBranch } from '../../../components/branch-name.tsx'
import { visibleName } from '../../../ui/sanitizing-jsx/visible.ts'
import type { ChangeRequest, Summary } from '../queries.ts'

export function whyOf(cr: ChangeRequest, summary: Summary | undefined, defaultBranch: string): string {
  const branches = `${shortBranch(cr.head_ref)} → ${cr.base_ref}`
  if (cr.status !== 'open' || summary === undefined) return branches
  const parts = isDraft(cr) ? [touches(summary)] : whyOpen(cr, summary)
  // Several change requests of one branch differ in their base.
  const into =
    cr.base_ref === defaultBranch || parts.some((part) => part?.includes(cr.base_ref)) ? null : `into ${cr.base_ref}`
  const text = [same(summary), into, ...parts, comments(summary)].filter((part) => part !== null).join(' · ')
  return text === '' ? branches : text.replace(startsWithWord, upperFirst)
}

/** A path or the name of a branch stays as it is. */
const startsWithWord = /^(same|into|its|touches|collides|nothing|checks?|checking|conflicts|the) /

const upperFirst = (text: string) => text.charAt(0).toUpperCase() + text.slice(1)

function whyOpen(cr: ChangeRequest, summary: Summary): (string | null)[] {
  switch (summary.state) {
    case 'conflicts':
      return [conflicts(cr, summary)]
    case 'manifest_invalid':
      return [invalidText, touches(summary)]
    case 'empty':
      return [`${cr.base_ref} already contains all commits`]
    case 'base_merged':
      return [`${cr.base_ref} was merged without it`, checks(summary), touches(summary)]
    case 'branch_deleted':
      return [deletedText(cr)]
    case 'unreachable':
      return ["the repository or one of the branches can't be read"]
    case 'confirm':
      return [
        `${count(summary.confirm_count ?? 0, 'effect')} to confirm`,
        checks(summary),
        touches(summary),
        collides(summary),
      ]
    case 'checking':
      if (summary.conflict_count === null) return ['checking mergeability…']
      return [checks(summary) ?? 'checks have not started', touches(summary), collides(summary)]
    default:
      return [checks(summary), touches(summary), collides(summary) ?? (summary.collisions && 'nothing collides')]
  }
}

/** The service allows several, which differ by their number, title and description alone. */
const same = ({ same_branches: others }: Summary) =>
  others === undefined ? null : `same branches as ${others.map((number) => `#${number}`).join(', ')}`

export const invalidText = 'svc.toml is invalid, and the project requires a valid one'

/** Of one whose branch no longer exists. The name of the head is often an id. */
export const deletedText = ({ missing_ref: missing, base_ref: base }: ChangeRequest) =>
  missing === base ? `${base} was deleted` : 'its branch was deleted'

function conflicts(cr: ChangeRequest, { conflicts: [first], conflict_count: files }: Summary): string {
  if (first === undefined || files === null) return `conflicts with ${cr.base_ref}`
  if (files === 1) return `${visibleName(first)} conflicts with ${cr.base_ref}`
  return `${visibleName(first)} and ${count(files - 1, 'more file')} conflict with ${cr.base_ref}`
}

function checks({ checks: found }: Summary): string | null {
  if (found === null) return null
  const { defined, passed, failed } = found
  if (failed.length === 1) return `check ${failed[0]} failed`
  if (failed.length > 1) return `${failed.length} of ${defined} checks failed: ${failed.join(', ')}`
  if (passed === defined) return defined === 1 ? 'the check passes' : `${passed} of ${defined} checks pass`
  return `${passed} of ${count(defined, 'check')} passed so far`
}

function touches({ touches: named, files }: Summary): string | null {
  if (named === null || files === null) return null
  const name = visibleName(named)
  return files === 1 ? `touches ${name}` : `touches ${name} and ${count(files - 1, 'more file')}`
}

function collides({ collisions }: Summary): string | null {
  const [first] = collisions ?? []
  if (collisions === null || first === undefined) return null
  if (collisions.length > 1) return `collides with ${collisions.map(({ number }) => `#${number}`).join(', ')}`
  return `collides with #${first.number}${first.files[0] === undefined ? '' : ` in ${visibleName(first.files[0])}`}`
}

const comments = ({ comments: sent }: Summary) => (sent === 0 ? null : count(sent, 'comment'))
