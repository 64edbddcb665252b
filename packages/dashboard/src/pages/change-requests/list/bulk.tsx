/** Closes or merges the selected change requests one after the other, and reports each. */
import { isDraft } from '@svc/contract/schemas/change-request-moves'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { api, onlyOnce, reply } from '../../../api.ts'
import { restart } from '../../../cache/invalidate.ts'
import { ConfirmButton } from '../../../components/confirm-button.tsx'
import { useProject } from '../../../components/shell/project-shell.tsx'
import { Button } from '../../../ui/form.tsx'
import { Notice } from '../../../ui/layout.tsx'
import { confirmsOf, filesConflict } from '../merge/landing.ts'
import { type ChangeRequest, pathOf, type Summary } from '../queries.ts'

export interface Selected {
  cr: ChangeRequest
  summary: Summary | undefined
}

interface Outcome {
  number: number
  text: string
  isDone: boolean
}

const path = '/v1/projects/{projectId}/change-requests/{crId}'

export function useBulk() {
  const { project_id } = useProject()
  const queries = useQueryClient()
  return useMutation({
    mutationFn: async ({ act, selected }: { act: (cr: ChangeRequest) => Promise<string>; selected: Selected[] }) => {
      const outcomes: Outcome[] = []
      // The oldest first, and each waits for the one before: a merge changes what the next one merges into.
      for (const { cr } of selected.toSorted((one, other) => one.cr.number - other.cr.number))
        outcomes.push(await outcomeOf(cr, act))
      return outcomes
    },
    onSettled: () => restart(queries, ['project', project_id]),
  })
}

async function outcomeOf(cr: ChangeRequest, act: (cr: ChangeRequest) => Promise<string>): Promise<Outcome> {
  try {
    return { number: cr.number, text: await act(cr), isDone: true }
  } catch (error) {
    return { number: cr.number, text: error instanceof Error ? error.message : String(error), isDone: false }
  }
}

async function close(cr: ChangeRequest): Promise<string> {
  await reply(api.POST(`${path}/close`, { params: { path: pathOf(cr) } }))
  return 'closed'
}

/** Only what needs no person's confirmation, and exactly the head that the list showed. */
async function merge(cr: ChangeRequest): Promise<string> {
  const at = { path: pathOf(cr) }
  const preview = await reply(api.GET(`${path}/merge-preview`, { params: { ...at, query: { include: 'effects' } } }))
  if (!preview.can_merge) throw new Error(`${filesConflict(preview)} with ${cr.base_ref}`)
  if (confirmsOf(preview.effects).length > 0) throw new Error('its effects need your confirmation; open it to merge')
  const body = cr.head_commit_sha === null ? {} : { expected_head_sha: cr.head_commit_sha }
  await reply(api.POST(`${path}/merge`, { params: { ...at, header: onlyOnce() }, body }))
  return `merged into ${cr.base_ref}`
}

/** The line above the list: how many there are, or what to do with the selected ones. */
export function BulkActions({
  selected,
  action,
  onClear,
}: {
  selected: Selected[]
  action: ReturnType<typeof useBulk>
  onClear: () => void
}) {
  const open = selected.filter(({ cr }) => cr.status === 'open')
  const ready = open.filter(({ cr, summary }) => summary?.state === 'ready' && !isDraft(cr))
  const counted = (n: number) => (n === 1 ? '1 change request' : `${n} change requests`)
  return (
    <div role="group" aria-label="Selected change requests" className="flex flex-wrap items-center gap-2">
      <span className="text-sm font-medium">{selected.length} selected</span>
      <ConfirmButton
        label={`Merge ${ready.length} ready`}
        kind="merge"
        verb="Merge"
        verbKind="merge"
        title={`Merge ${counted(ready.length)}?`}
        disabledReason={
          action.isPending ? 'The selected ones are being changed' : ready.length === 0 ? 'None of them is ready' : null
        }
        action={action}
        given={{ act: merge, selected: ready }}
      >
        They merge one after the other, the oldest first. One that conflicts by then, or whose effects need
        confirmation, stays open. Their checks ran without the others.
      </ConfirmButton>
      <ConfirmButton
        label={`Close ${open.length}`}
        kind="plain"
        verb="Close without merging"
        title={`Close ${counted(open.length)}?`}
        disabledReason={
          action.isPending ? 'The selected ones are being changed' : open.length === 0 ? 'None of them is open' : null
        }
        action={action}
        given={{ act: close, selected: open }}
      >
        The branches still exist, and each can be reopened.
      </ConfirmButton>
      <Button kind="quiet" onClick={onClear}>
        Clear selection
      </Button>
    </div>
  )
}

export function BulkReport({ action }: { action: ReturnType<typeof useBulk> }) {
  const { data: outcomes, reset } = action
  if (outcomes === undefined) return null
  const failed = outcomes.filter(({ isDone }) => !isDone).length
  const done = outcomes.length - failed
  return (
    <Notice
      tone={failed > 0 ? 'warn' : 'neutral'}
      title={`${done} of ${outcomes.length} done`}
      action={<Button onClick={() => reset()}>Dismiss</Button>}
    >
      <ul aria-label="Report">
        {outcomes.map(({ number, text, isDone }) => (
          <li key={number}>
            #{number}: {isDone ? text : `not changed, ${text}`}
          </li>
        ))}
      </ul>
    </Notice>
  )
}
