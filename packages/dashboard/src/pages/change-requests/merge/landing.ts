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
} from '../queries.ts'
import { deletedText, invalidText } from '../list/why.ts'
import { isUnreachable, previewErrorReason } from './merge-notices.tsx'
import { verificationFailureOf } from './checks.tsx'
import { type StackedOn, useStackedOn } from './stacked-base.tsx'

export interface Landing {
  preview: MergePreview | undefined
  /** Why the preview may be out of date. */
  stale: { error: Error; since: string; retry: () => void } | null
  checks: Checks | undefined
  effects: Effects | undefined
  /** The effects that a person has to confirm, and whether they did. */
  confirms: { text: string; isTicked: boolean }[]
  tick: (text: string, isTicked: boolean) => void
  stackedOn: StackedOn | null
  /** svc.toml of the head has errors, and the project requires a valid one. */
  isRefusedByGate: boolean
  /** Everything has an answer or an error, so that nothing moves any more. */
  isSettled: boolean
  /** Why it cannot be merged; null when it can. `answers`: some are still missing. */
  refusal: { text: string; missing: 'answers' | 'confirmation' | null } | null
}

export function useLanding(cr: ChangeRequest): Landing {
  const { settings } = useProject()
  const isOpen = cr.status === 'open'
  const preview = useQuery({ ...mergePreview(cr), enabled: isOpen })
  const checked = useQuery(checks(cr))
  const found = useQuery(effects(cr))
  const { stackedOn, isLoading } = useStackedOn(cr)
  const pair = `${cr.base_commit_sha} ${cr.head_commit_sha}`
  // Ticked for these commits alone.
  const [ticked, setTicked] = useState<{ pair: string; texts: string[] }>({ pair, texts: [] })
  const texts = ticked.pair === pair ? ticked.texts : []
  const confirms = confirmsOf(found.data).map((text) => ({ text, isTicked: texts.includes(text) }))
  const waitsFor = [
    [preview.isPending, 'mergeability'],
    [checked.isPending, 'checks'],
    [found.isPending, 'effects'],
    [isLoading, 'the base'],
  ].flatMap(([isPending, what]) => (isPending === true ? String(what) : []))
  const held = useHeldRefusal()
  const isRefusedByGate = settings.manifest_gate === 'on' && found.data !== undefined && isInvalid(found.data)
  const firm =
    (held === null ? null : `t${held.slice(1)}`) ??
    refusalBy(cr, preview.data, preview.error) ??
    (isRefusedByGate ? invalidText : null) ??
    (found.data === undefined && found.error !== null ? 'its effects are unknown' : null) ??
    (checked.data === undefined && checked.error !== null ? 'the check results are unknown' : null)
  const unconfirmed = confirms.filter(({ isTicked }) => !isTicked).length
  return {
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
    tick: (text, isTicked) =>
      setTicked({ pair, texts: isTicked ? [...texts, text] : texts.filter((each) => each !== text) }),
    stackedOn,
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

/** The state of the change request in the words of its panel. */
export function landingTitle(cr: ChangeRequest, { preview, refusal, checks, stackedOn }: Landing): string {
  if (cr.status !== 'open') return cr.status === 'merged' ? 'Merged' : 'Closed'
  if (isDraft(cr)) return 'Draft'
  if (refusal === null) {
    if (preview?.is_up_to_date === true) return 'Nothing to merge'
    if (verificationFailureOf(checks ?? null) === null)
      return stackedOn?.isMerged === true ? 'Its base is already merged' : (collisionText(preview) ?? 'Ready to land')
    return checks?.state === 'running' ? 'Checks are running' : 'Checks failed'
  }
  if (refusal.missing === 'answers') return 'Checking…'
  return refusal.missing === 'confirmation' ? 'Needs your confirmation' : 'Not ready to land'
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
  { preview, stale, checks, stackedOn, isRefusedByGate, refusal }: Landing,
  known: LandingState | null,
): StateNow | null {
  if (known === 'branch_deleted') return known
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
  if (refusal === null)
    return stackedOn?.isMerged === true ? 'base_merged' : collisionText(preview) === null ? 'ready' : 'collides'
  if (refusal.missing === 'answers') return meanwhile ?? 'checking'
  return refusal.missing === 'confirmation' ? 'confirm' : 'blocked'
}
