/** Viewed files and drafts of this person in a change request, and their order of files in all. The server stores it, so that all their browsers agree. */
import { type QueryClient, useMutation, useMutationState, useQuery, useQueryClient } from '@tanstack/react-query'
import { api, reply } from '../../../api.ts'
import { type ChangeRequest, pathOf, reviewState, type ReviewState } from '../queries.ts'

const route = '/v1/projects/{projectId}/change-requests/{crId}/review-state'

export interface Edit {
  viewed?: Record<string, string | null>
  drafts?: Record<string, Omit<ReviewState['drafts'][number], 'draft_id'> | null>
  visited?: string
  file_order?: FileOrder
}

export type FileOrder = NonNullable<ReviewState['file_order']>

const none: ReviewState = { viewed: {}, drafts: [], visit: null, earlier_visit: null, file_order: null }

/** Edits of one person apply in their order, and a review waits for the drafts before it. */
export const reviewScope = (cr: ChangeRequest) => ({ id: `review state ${cr.cr_id}` })

export function useReviewState(cr: ChangeRequest) {
  const queries = useQueryClient()
  const query = reviewState(cr)
  const found = useQuery(query)
  const sending = useMutation({
    mutationKey: query.queryKey,
    scope: reviewScope(cr),
    mutationFn: (edit: Edit) => reply(api.PATCH(route, { params: { path: pathOf(cr) }, body: edit })),
    onMutate: ({ file_order: order }) => order && setFileOrder(queries, order),
    onSettled: () => queries.invalidateQueries({ queryKey: query.queryKey }),
  })
  // The page shows an edit at once. Each answer meanwhile is from before it, so the edit is put on top of it.
  const pending = useMutationState({
    filters: { mutationKey: query.queryKey, status: 'pending' },
    select: ({ state }) => state.variables as Edit,
  })
  return {
    state: pending.reduce(edited, found.data ?? none),
    isRead: found.data !== undefined,
    // A comment that was not stored has its error in its form.
    error: (storesComment(sending.variables) ? null : sending.error) ?? found.error,
    edit: sending.mutate,
    save: sending.mutateAsync,
  }
}

const storesComment = (edit?: Edit) => Object.values(edit?.drafts ?? {}).some((draft) => draft !== null)

function edited(state: ReviewState, { viewed = {}, drafts = {}, visited, file_order }: Edit): ReviewState {
  const marks = Object.entries({ ...state.viewed, ...viewed }).filter(([, version]) => version !== null)
  const known = new Set(state.drafts.map(({ draft_id }) => draft_id))
  const kept = state.drafts.flatMap((draft) => {
    const change = drafts[draft.draft_id]
    return change === undefined ? [draft] : change === null ? [] : [{ ...change, draft_id: draft.draft_id }]
  })
  const added = Object.entries(drafts).flatMap(([draft_id, draft]) =>
    draft === null || known.has(draft_id) ? [] : [{ ...draft, draft_id }],
  )
  const isNew = visited !== undefined && visited !== state.visit?.head_sha
  return {
    viewed: Object.fromEntries(marks) as ReviewState['viewed'],
    drafts: [...kept, ...added],
    visit: isNew ? { head_sha: visited, visited_at: new Date().toISOString() } : state.visit,
    earlier_visit: isNew ? state.visit : state.earlier_visit,
    file_order: file_order ?? state.file_order,
  }
}

/** The order applies to all change requests, also to those that the page has read already. */
function setFileOrder(queries: QueryClient, file_order: FileOrder): void {
  queries.setQueriesData<ReviewState>(
    { predicate: ({ queryKey }) => queryKey.at(-1) === 'review-state' },
    (before) => before && { ...before, file_order },
  )
}
