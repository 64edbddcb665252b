/** Whether a change request may land: what the panel, the header, and the merge button read. */
import { isDraft, refuseMove } from '@svc/contract/schemas/change-request-moves'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { isFetching } from '../../../cache/query-client.ts'
import { useHeldRefusal } from '../../../components/role.ts'
import { useProject } from '../../../components/shell/project-shell.tsx'
import {
  type ChangeRequest,
  type Checks,
  checks,
  type Effects,
  effects,
  type LandingState,
  mergePreview,
  type MergePreview,
  pullRequest,
  type PullRequest,
} from '../queries.ts'
import { deletedText, invalidText } from '../list/why.ts'
import { isUnreachable, previewErrorReason } from './merge-notices.tsx'
import { verificationFailureOf } from './checks.tsx'
import { type StackedOn, useStackedOn } from './stacked-base.tsx'

/** The page knows these facts itself; the service answers the others. */
export interface Known {
  /** The service isn't responding, so every answer is of an earlier time. */
  isAway: boolean
  /** The head of a merge that was refused since the branch has new commits, until the user shows them. */
  movedFrom: string | null
}

export interface Landing extends Known {
  preview: MergePreview | undefined
  /** Why the preview may be out of date. */
  stale: { error: Error; since: string; retry: () => void } | null
  checks: Checks | undefined
  effects: Effects | undefined
  /** The effects that a person has to confirm, and whether they did. */
  confirms: { text: string; isTicked: boolean }[]
  tick: (text: string, isTicked: boolean) => void
  stackedOn: StackedOn | null
  /** The git host refused a push to the base, or has a rule against it. Merging stays possible: the next push may succeed. */
  protection: PullRequest['protection']
  /** svc.toml of the head has errors, and the project requires a valid one. */
  isRefusedByGate: boolean
  /** Everything has an answer or an error, so that nothing moves any more. */
  isSettled: boolean
  /** Why it cannot be merged; null when it can. `answers`: some are still missing. */
  refusal: { text: string; missing: 'answers' | 'confirmation' | null } | null
}

export function useLanding(cr: ChangeRequest, known: Known): Landing {
  const { settings } = useProject()
  const isOpen = cr.status === 'open'
  const preview = useQuery({ ...mergePreview(cr), enabled: isOpen })
  const checked = useQuery(checks(cr))
  const found = useQuery(effects(cr))
  const hosted = useQuery({ ...pullRequest(cr), enabled: isOpen })
  const { stackedOn, isLoading } = useStackedOn(cr)
  const { confirms, tick } = useConfirms(cr, found.data)
  const waitsFor = [
    [preview.isPending, 'mergeability'],
    [checked.isPending, 'checks'],
    [found.isPending, 'effects'],
    [isLoading, 'the base'],
    [isOpen && hosted.isPending, 'the git host'],
  ].flatMap(([isPending, what]) => (isPending === true ? String(what) : []))
  const held = useHeldRefusal()
  const isRefusedByGate = settings.manifest_gate === 'on' && found.data !== undefined && isInvalid(found.data)
  const firm =
    (known.isAway ? "the service isn't responding" : null) ??
    (held === null ? null : `t${held.slice(1)}`) ??
    (known.movedFrom === null ? null : "you haven't seen the new commits") ??
    refusalBy(cr, preview.data, preview.error) ??
    (isRefusedByGate ? invalidText : null) ??
    (found.data === undefined && found.error !== null ? 'its effects are unknown' : null) ??
    (checked.data === undefined && checked.error !== null ? 'the check results are unknown' : null)
  const unconfirmed = confirms.filter(({ isTicked }) => !isTicked).length
  return {
    ...known,
    preview: preview.data,
    stale: preview.isError
      ? {
          error: preview.error,
          since: preview.data === undefined ? cr.updated_at : new Date(preview.dataUpdatedAt).toISOString(),
          retry: () => void preview.refetch(),
        }
      : null,
    checks: checked.data,
    effects: found.data,
    confirms,
    tick,
    stackedOn,
    protection: hosted.data?.protection ?? null,
    isRefusedByGate,
    isSettled: waitsFor.length === 0,
    refusal:
      firm !== null
        ? { text: firm, missing: null }
        : unconfirmed > 0
          ? { text: `${counted(unconfirmed)} your confirmation`, missing: 'confirmation' }
          : waitsFor.length > 0
            ? { text: `Waiting for ${waitsFor.join(', ')}…`, missing: 'answers' }
            : null,
  }
}

function useConfirms(cr: ChangeRequest, found: Effects | undefined): Pick<Landing, 'confirms' | 'tick'> {
  const pair = `${cr.base_commit_sha} ${cr.head_commit_sha}`
  // Ticked for these commits alone.
  const [ticked, setTicked] = useState<{ pair: string; texts: string[] }>({ pair, texts: [] })
  const texts = ticked.pair === pair ? ticked.texts : []
  return {
    confirms: confirmsOf(found).map((text) => ({ text, isTicked: texts.includes(text) })),
    tick: (text, isTicked) =>
      setTicked({ pair, texts: isTicked ? [...texts, text] : texts.filter((each) => each !== text) }),
  }
}

/** The state of the change request in the words of its panel. */
export function landingTitle(cr: ChangeRequest, landing: Landing): string {
  const { isAway, refusal } = landing
  if (cr.status !== 'open') return cr.status === 'merged' ? 'Merged' : 'Closed'
  if (isAway) return 'State unknown'
  if (isDraft(cr)) return 'Draft'
  if (refusal === null) return mergeableTitle(cr, landing)
  if (refusal.missing === 'answers') return 'Checking…'
  return refusal.missing === 'confirmation' ? 'Needs your confirmation' : 'Not ready to land'
}

function mergeableTitle(cr: ChangeRequest, { preview, checks, stackedOn, protection }: Landing): string {
  if (preview?.is_up_to_date === true) return 'Nothing to merge'
  if (verificationFailureOf(checks ?? null) !== null)
    return checks?.state === 'running' ? 'Checks are running' : 'Checks failed'
  if (protection !== null) return protection.found_by === 'push' ? 'Last push refused' : `${cr.base_ref} is protected`
  return stackedOn?.isMerged === true ? 'Its base is already merged' : (collisionText(preview) ?? 'Ready to land')
}

/** Null: it collides with none. */
export function collisionText(preview: MergePreview | undefined): string | null {
  const [first, ...others] = preview?.collisions ?? []
  if (first === undefined) return null
  return others.length === 0 ? `Collides with #${first.number}` : `Collides with ${others.length + 1} change requests`
}

const counted = (effects: number) => (effects === 1 ? '1 effect needs' : `${effects} effects need`)

export const confirmsOf = (found: Effects | undefined) => [
  ...new Set(found?.details.flatMap(({ confirm }) => confirm) ?? []),
]

function refusalBy(cr: ChangeRequest, preview: MergePreview | undefined, error: Error | null): string | null {
  const byStatus = refuseMove('merge', cr.status)
  if (byStatus !== null) return byStatus
  if (isDraft(cr)) return 'this is a draft'
  if (cr.missing_ref != null) return deletedText(cr)
  if (error !== null) return previewErrorReason(error)
  if (preview !== undefined && !preview.can_merge) return `${filesConflict(preview)} with ${cr.base_ref}`
  return null
}

export const isInvalid = (found: Effects) => found.manifest_issues.some(({ severity }) => severity === 'error')

export const filesConflict = ({ conflicts }: Pick<MergePreview, 'conflicts'>) =>
  conflicts.length === 1 ? '1 file conflicts' : `${conflicts.length} files conflict`

/** `blocked`: by what a list does not know, such as a failed request. */
export type StateNow = LandingState | 'blocked'

/** The state as the page knows it now, in agreement with the panel; `known` is what the list knew. */
export function stateNow(
  { isAway, preview, stale, checks, stackedOn, protection, isRefusedByGate, refusal }: Landing,
  known: LandingState | null,
): StateNow | null {
  if (known === 'branch_deleted') return known
  if (isAway) return 'unreachable'
  if (stale !== null)
    return isUnreachable(stale.error) ? 'unreachable' : isFetching(stale.error) ? 'checking' : 'blocked'
  // While an answer is missing that can change it, nothing says that it is ready.
  const meanwhile = known === 'ready' ? 'checking' : known
  if (preview === undefined) return meanwhile
  if (!preview.can_merge) return 'conflicts'
  if (preview.is_up_to_date) return 'empty'
  if (isRefusedByGate) return 'manifest_invalid'
  if (checks === undefined) return meanwhile ?? 'checking'
  if (checks.state === 'running') return 'checking'
  if (verificationFailureOf(checks) !== null) return 'failing'
  if (refusal === null && protection !== null) return 'blocked'
  if (refusal === null)
    return stackedOn?.isMerged === true ? 'base_merged' : collisionText(preview) === null ? 'ready' : 'collides'
  if (refusal.missing === 'answers') return meanwhile ?? 'checking'
  return refusal.missing === 'confirmation' ? 'confirm' : 'blocked'
}
