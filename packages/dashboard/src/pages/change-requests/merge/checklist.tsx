import { count } from '@svc/contract/count'
import { useQuery } from '@tanstack/react-query'
import { flushSync } from 'react-dom'
import { visibleName } from '../../../ui/sanitizing-jsx/visible.ts'
import { shortCommit } from '../../../components/short-commit.ts'
import { type ChangeRequest, type Checks, type Effects, type Review, reviews } from '../queries.ts'
import { tookText } from './checks.tsx'
import { focusConfirm } from './effect-rows.tsx'
import { collisionText, filesConflict, isInvalid, type Landing } from './landing.ts'
import { deletedText } from '../list/why.ts'
import { previewErrorReason } from './merge-notices.tsx'

type Look = 'good' | 'warn' | 'bad' | 'wait' | 'none'

interface Item {
  look: Look
  title: string
  /** Or the effects that a person confirms, each in full. */
  detail: string | Landing['confirms']
}

const looks: Record<Look, { sign: string; tone: string; word: string }> = {
  good: { sign: '✓', tone: 'bg-good-soft text-good', word: 'Done' },
  warn: { sign: '!', tone: 'bg-warn-soft text-warn', word: 'Needs attention' },
  bad: { sign: '✕', tone: 'bg-bad-soft text-bad', word: 'Problem' },
  wait: { sign: '…', tone: 'bg-hover text-dim', word: 'Waiting' },
  none: { sign: '–', tone: 'bg-hover text-dim', word: 'Not needed' },
}

/** Four lines that keep their height, whatever is known, so that the button below them does not move. */
export function Checklist({ cr, landing }: { cr: ChangeRequest; landing: Landing }) {
  const items = useItems(cr, landing)
  return (
    <ul aria-label="Checklist" aria-busy={!landing.isSettled} className="flex flex-col gap-2">
      {items.map(({ look, title, detail }, at) => (
        <li key={at} className="flex h-10 gap-2.5 last:h-auto last:min-h-17">
          <Sign look={look} />
          <div className="min-w-0 flex-1">
            <p className="truncate text-base" title={title}>
              <span className="sr-only">{looks[look].word}: </span>
              {title}
            </p>
            {typeof detail === 'string' ? (
              <p className="line-clamp-1 text-xs text-faint in-[li:last-child]:line-clamp-3" title={detail}>
                {detail}
              </p>
            ) : (
              detail.map(({ text }) => <ConfirmLink key={text} text={text} />)
            )}
          </div>
        </li>
      ))}
    </ul>
  )
}

function useItems(cr: ChangeRequest, landing: Landing): Item[] {
  const found = useQuery(reviews(cr))
  return [mergeItem(cr, landing), checksItem(cr, landing.checks), reviewItem(found.data), effectsItem(cr, landing)]
}

/** Rows that speak against a merge come first. */
const urgency: Look[] = ['bad', 'warn', 'wait', 'good', 'none']

/** The titles of the four lines alone. A phone shows the most urgent one, or all that is good where nothing refuses the merge. */
export function ShortChecklist({ cr, landing }: { cr: ChangeRequest; landing: Landing }) {
  const items = useItems(cr, landing).toSorted((one, other) => urgency.indexOf(one.look) - urgency.indexOf(other.look))
  const first = items[0]!.look
  const isShown = (look: Look, at: number) =>
    look === 'good' ? first === 'good' && landing.refusal === null : look !== 'none' && at === 0
  return (
    <ul aria-label="Checklist" className="flex flex-wrap gap-x-4 gap-y-1 text-sm">
      {items.map(({ look, title }, at) => (
        <li
          key={title}
          className={`flex min-w-0 gap-1.5 ${look === 'warn' || look === 'bad' ? '' : 'text-dim'} ${isShown(look, at) ? '' : 'max-md:hidden'}`}
        >
          <Sign look={look} />
          <span className="sr-only">{looks[look].word}: </span>
          {title}
        </li>
      ))}
    </ul>
  )
}

function Sign({ look }: { look: Look }) {
  return (
    <span
      aria-hidden
      className={`mt-0.5 inline-grid size-4 flex-none place-items-center rounded-full text-[0.625rem]/none font-bold ${looks[look].tone}`}
    >
      {looks[look].sign}
    </span>
  )
}

/** Leads to the checkbox further down, which `onShow` makes visible. */
export function ConfirmLink({ text, onShow }: { text: string; onShow?: () => void }) {
  return (
    <button
      type="button"
      className="block min-h-6 text-left text-xs text-faint underline decoration-line-strong hover:text-text"
      onClick={() => {
        if (onShow !== undefined) flushSync(onShow)
        focusConfirm(text)
      }}
    >
      {text}
    </button>
  )
}

const item = (look: Look, title: string, detail: Item['detail'] = ''): Item => ({ look, title, detail })

function mergeItem(cr: ChangeRequest, landing: Landing): Item {
  const { isAway, movedFrom, preview, stale } = landing
  if (cr.missing_ref != null)
    return item('bad', sentence(deletedText(cr)), 'Push it again, or close this change request')
  if (isAway) return item('warn', 'Mergeability is unknown', 'Checked again when the service is back')
  if (movedFrom !== null) return item('bad', 'The branch has new commits', 'Show them, then merge')
  if (stale !== null) return item('warn', 'Mergeability is unknown', sentence(previewErrorReason(stale.error)))
  if (preview === undefined) return item('wait', 'Checking mergeability…')
  const head = shortCommit(preview.head_sha)
  if (!preview.can_merge)
    return item('bad', `${filesConflict(preview)} with ${cr.base_ref}`, preview.conflicts.map(visibleName).join(', '))
  if (preview.is_up_to_date) return item('none', 'Nothing to merge', `${cr.base_ref} already contains these commits.`)
  const how = preview.can_fast_forward
    ? `${cr.base_ref} fast-forwards to ${head}`
    : `a merge commit adds ${head} to ${cr.base_ref}`
  const concern = concernOf(cr, landing)
  return concern === null ? item('good', 'Merges cleanly', how) : item('warn', `Merges cleanly, but ${concern}`, how)
}

function concernOf({ base_ref: base }: ChangeRequest, { preview, protection, stackedOn }: Landing): string | null {
  if (protection !== null) return protection.found_by === 'push' ? 'the last push was refused' : `${base} is protected`
  if (stackedOn?.isMerged === true) return 'its base is already merged'
  const collision = collisionText(preview)
  return collision === null ? null : `${collision.charAt(0).toLowerCase()}${collision.slice(1)}`
}

function checksItem(cr: ChangeRequest, found: Checks | undefined): Item {
  if (found === undefined) return item('wait', 'Check results are loading')
  const all = found.checks
  const of = (...statuses: string[]) => all.filter(({ status }) => statuses.includes(status))
  const counted = count(all.length, 'check')
  const [passed, failed, running] = [of('passed'), of('failed', 'error'), of('queued', 'running')]
  switch (found.state) {
    case 'none':
      return item('none', 'No checks', `svc.toml on ${cr.base_ref} defines none`)
    case 'passed':
      return item('good', `${all.length} of ${counted} ${all.length === 1 ? 'passes' : 'pass'}`, durations(all))
    case 'failed':
      return item('bad', `${failed.length} of ${counted} failed`, names(failed))
    case 'running':
      return item('wait', `${passed.length} of ${counted} passed so far`, `Running: ${names(running)}`)
    case 'not_run':
      return item('warn', 'Not checked', found.reason ?? '')
    default:
      return found.state satisfies never
  }
}

const names = (all: Checks['checks']) => all.map(({ name }) => name).join(', ')

const durations = (all: Checks['checks']) =>
  all.map((each) => [each.name, tookText(each)].filter((part) => part !== null).join(' ')).join(' · ')

/** Whether each thread of the reviews has an answer. Open ones do not keep a person from merging. */
function reviewItem(found: Review[] | undefined): Item {
  if (found === undefined) return item('wait', 'Reviews are loading')
  if (found.length === 0) return item('none', 'Not reviewed', 'Comment on lines in Files to send a review')
  const threads = found.flatMap(({ thread, comments }) => (thread ? [thread] : comments))
  const open = threads.filter(({ state }) => state === 'open').length
  const declined = threads.filter(({ answer }) => answer?.outcome === 'declined').length
  const done = threads.filter(({ answer }) => answer?.outcome === 'done').length
  const counts = [`${done} done`, ...(declined > 0 ? [`${declined} declined`] : [])].join(', ')
  if (open > 0) return item('warn', `${count(open, 'open comment')} of ${threads.length}`, counts)
  return item('good', 'Review answered', `${count(threads.length, 'comment')}: ${counts}`)
}

function effectsItem(cr: ChangeRequest, { effects: found, confirms, isRefusedByGate }: Landing): Item {
  if (found === undefined) return item('wait', 'Effects are loading')
  if (isRefusedByGate) return item('bad', 'svc.toml is invalid in this change', 'This project requires a valid one')
  if (!found.applies) return item('none', 'No effects', `${cr.base_ref} is not the default branch`)
  const open = confirms.filter(({ isTicked }) => !isTicked)
  // All of them, so that a checkbox does not move when it is ticked.
  if (open.length > 0) return item('warn', `${count(open.length, 'effect')} to confirm`, confirms)
  if (isInvalid(found))
    return item(
      'warn',
      'svc.toml is invalid in this change',
      isIgnored(found) ? 'The file is ignored as a whole' : 'Its invalid entries have no effect',
    )
  const missing = found.secrets_missing
  if (missing.length > 0)
    return item('warn', `${count(missing.length, 'secret')} missing`, 'Set below, before or after the merge')
  // Its own checks decide about this change, until a merge brings the changed ones.
  const checks = found.details.filter(({ kind, change }) => kind === 'check' && change !== 'added').length
  const look = checks > 0 ? 'warn' : 'good'
  if (confirms.length > 0) return item(look, `${count(confirms.length, 'effect')} confirmed`, confirms)
  if (checks > 0)
    return item(look, checks === 1 ? 'Changes a check' : `Changes ${checks} checks`, found.words.join(' '))
  return found.words.length === 0
    ? item('none', 'No effects', 'Only code changes')
    : item('good', count(found.words.length, 'effect'), found.words.join(' '))
}

/** Not TOML, or too large: there is one issue then, about the whole file. */
const isIgnored = ({ manifest_issues: issues }: Effects) => issues.length === 1 && issues[0]!.path === ''

const sentence = (text: string) => text.charAt(0).toUpperCase() + text.slice(1)
