/** One row of the inbox, with one line that says why it is there. */
import type { InboxItem } from '@svc/contract'
import { count } from '@svc/contract/count'
import { errorOf, taskOf } from '../sessions/present.ts'
import type { ChangeRequestDetail, QuestionDetail, SessionDetail } from './detail-store.ts'
import type { FoundChecks, FoundItem } from './item-store.ts'

const taskCharsMax = 200
const whyCharsMax = 300

function rowOf(item: FoundItem): Omit<InboxItem, 'title' | 'why'> {
  const { key, kind, group, state, project, updated_at, snoozed_until } = item
  return {
    ...{ key, kind, group, state, project, updated_at, snoozed_until },
    version: versionOf(item),
    ...{ task: null, number: null, cr_id: null, question_id: null, session: null, author: null },
    ...{ additions: null, deletions: null },
  }
}

/** The failure follows the last `~`, which no version contains. */
function versionOf({ version, failure }: Pick<FoundItem, 'version' | 'failure'>): string {
  return failure === null ? version : `${version}~${failure}`
}

export function readVersion(text: string): { version: string; failure: string | null } {
  const at = text.lastIndexOf('~')
  return at === -1 ? { version: text, failure: null } : { version: text.slice(0, at), failure: text.slice(at + 1) }
}

export function presentChangeRequest(item: FoundItem, found: ChangeRequestDetail): InboxItem {
  const { cr_id, number, title, author, additions, deletions } = found
  return {
    ...rowOf(item),
    ...{ cr_id, number, title, author, additions, deletions },
    session: sessionOf(found.session_id, found.session_name, found.agent_name),
    why: joined([...sameBranches(found), ...withBase(reasonsOf(item, found), found)]),
  }
}

const sameBranches = ({ same_branches: others }: ChangeRequestDetail) =>
  others === null ? [] : [`Same branches as ${others.map((number) => `#${number}`).join(', ')}`]

/** Several change requests of one branch differ in their base. */
function withBase(reasons: (string | null)[], { base_ref: base, default_branch }: ChangeRequestDetail) {
  return base === default_branch || reasons.some((reason) => reason?.includes(base))
    ? reasons
    : [`Into ${base}`, ...reasons]
}

function reasonsOf(item: FoundItem, found: ChangeRequestDetail): (string | null)[] {
  const { checks } = item
  switch (item.state) {
    case 'conflicts':
      return [filesConflict(found), checksOf(checks)]
    case 'manifest_invalid':
      return ['svc.toml is invalid, and the project requires a valid one', touches(found)]
    case 'failing':
      return [checksOf(checks), touches(found), collides(found)]
    case 'answered':
      return ['New commits since your review', checksOf(checks), touches(found), collides(found)]
    case 'checking':
      return found.is_compared === null
        ? ['Checking mergeability…']
        : [checksOf(checks) ?? 'Checks have not started', touches(found), collides(found)]
    case 'confirm':
      return [
        `${count(found.confirm_count ?? 0, 'effect')} to confirm`,
        checksOf(checks),
        touches(found),
        collides(found),
      ]
    case 'unreachable':
      return ["The repository or one of the branches can't be read"]
    case 'branch_deleted':
      return [found.missing_ref === found.base_ref ? `${found.base_ref} was deleted` : 'Its branch was deleted']
    case 'base_merged':
      return [`${found.base_ref} was merged without it`, checksOf(checks), touches(found)]
    case 'empty':
      return [`${found.base_ref} already contains all commits`]
    default:
      return [checksOf(checks), touches(found), collides(found) ?? (found.is_compared ? 'nothing collides' : null)]
  }
}

function filesConflict({ conflicts, conflict_count: files, base_ref: base }: ChangeRequestDetail): string {
  const [first] = conflicts ?? []
  if (first === undefined || files === null) return `Conflicts with ${base}`
  if (files === 1) return `${first} conflicts with ${base}`
  return `${first} and ${count(files - 1, 'more file')} conflict with ${base}`
}

function checksOf(checks: FoundChecks | null): string | null {
  if (checks === null) return null
  const { defined, passed, failed } = checks
  if (failed.length === 1) return `Check ${failed[0]} failed`
  if (failed.length > 1) return `${failed.length} of ${defined} checks failed: ${failed.join(', ')}`
  if (passed === defined) return defined === 1 ? 'The check passes' : `${passed} of ${defined} checks pass`
  return `${passed} of ${count(defined, 'check')} passed, the rest are running`
}

/** Files whose change does more than change code come first. */
const notable = /(^|\/)(svc\.toml|package\.json|Dockerfile)$/

function touches({ paths, path_count: files }: ChangeRequestDetail): string | null {
  if (paths === null || files === null || files === 0) return null
  const [first] = paths
  const named = paths.find((path) => notable.test(path)) ?? (files === 1 ? first : undefined)
  if (named === undefined) return `touches ${count(files, 'file')}`
  return files === 1 ? `touches ${named}` : `touches ${named} and ${count(files - 1, 'more file')}`
}

function collides({ collisions }: ChangeRequestDetail): string | null {
  const [first] = collisions
  if (first === undefined) return null
  if (collisions.length > 1) return `collides with ${collisions.map(({ number }) => `#${number}`).join(', ')}`
  const [file] = first.files
  return `collides with #${first.number}${file === undefined ? '' : ` in ${file}`}`
}

export function presentSession(item: FoundItem, found: SessionDetail): InboxItem {
  const { session_id, name, agent_name, author } = found
  return {
    ...rowOf(item),
    ...{ title: name, author },
    session: { session_id, name, agent_name },
    task: found.task === null ? null : taskOf(found.task),
    why: joined([whyOfSession(item, found)]),
  }
}

function whyOfSession({ state }: FoundItem, found: SessionDetail): string {
  switch (state) {
    case 'failed':
      return errorOf(found) ?? 'The session failed.'
    case 'turn_failed':
      return found.last_turn_error?.message ?? 'The last turn failed.'
    case 'starting':
      return 'Starting'
    case 'working':
      return `Working${onBranch(found)}`
    default:
      return `Waiting for a prompt${onBranch(found)}`
  }
}

/** A branch that the service named has the id of its session, which says nothing to a reader. */
function onBranch({ branch_name: branch, session_id: id, base_ref: base }: SessionDetail): string {
  return branch === id ? `, started from ${base}` : ` on ${branch}`
}

export function presentQuestion(item: FoundItem, found: QuestionDetail): InboxItem {
  const { session_id, session_name, agent_name } = found
  const isCall = item.kind === 'approval'
  return {
    ...rowOf(item),
    title: isCall ? `Call ${found.title}` : firstLine(found.title),
    author: found.author,
    question_id: isCall ? null : found.id,
    session: sessionOf(session_id, session_name, agent_name),
    why: joined([
      session_name === null ? 'A connector call waits for approval' : `Session “${session_name}” is waiting`,
      firstLine(found.detail) || null,
    ]),
  }
}

const sessionOf = (session_id: string | null, name: string | null, agent_name: string | null) =>
  session_id === null || name === null || agent_name === null ? null : { session_id, name, agent_name }

function joined(parts: (string | null)[]): string {
  const text = parts.filter((part) => part !== null).join(' · ')
  return cut(text.replace(/^(touches|collides|nothing) /, upperFirst), whyCharsMax)
}

const upperFirst = (text: string) => text.charAt(0).toUpperCase() + text.slice(1)

const firstLine = (text: string) => cut(text.trim().split(/\r?\n/)[0]!.trim(), taskCharsMax)

const cut = (text: string, max: number) => (text.length <= max ? text : `${text.slice(0, max - 1).toWellFormed()}…`)
