import * as contract from '@svc/contract'
import type { Deps } from '../../deps.ts'
import { handle, type Mounted } from '../../http/mount.ts'
import { requireChangeRequest } from '../store.ts'
import { refreshThreadsIfReachable } from './refresh-threads.ts'
import { applySuggestions } from './apply-suggestions.ts'
import { createReview } from './review.ts'
import { editReviewState, getReviewState } from './state.ts'
import { versionsOf } from './state-store.ts'
import { reviewsOf } from './store.ts'
import { answerComment, replyToComment, resolveComment } from './threads.ts'

export function reviewRoutes(deps: Deps): Mounted[] {
  return [
    handle(contract.listReviewsRoute, async ({ project, params, request: { signal } }) => {
      const cr = await requireChangeRequest(deps.db, project.project_id, params.crId)
      await refreshThreadsIfReachable(deps, { project, cr, signal })
      return { reviews: await reviewsOf(deps.db, cr.cr_id) }
    }),
    handle(contract.createReviewRoute, async ({ project, caller, params, body, request }) =>
      createReview(deps, { ...body, ...params, project, caller, reviewId: request.resourceId }),
    ),
    handle(contract.answerCommentRoute, async ({ project, caller, params, body, request: { resourceId, signal } }) =>
      answerComment(deps, { ...body, ...params, project, caller, replyId: resourceId, signal }),
    ),
    handle(contract.replyToCommentRoute, async ({ project, caller, params, body, request }) =>
      replyToComment(deps, { ...body, ...params, project, caller, replyId: request.resourceId }),
    ),
    handle(contract.resolveCommentRoute, async ({ project, caller, params, body }) =>
      resolveComment(deps, { ...body, ...params, project, caller }),
    ),
    handle(contract.applySuggestionsRoute, async ({ project, caller, params, body, request }) =>
      applySuggestions(deps, {
        ...body,
        ...params,
        project,
        caller,
        requestId: request.resourceId,
        signal: request.signal,
      }),
    ),
    handle(contract.getReviewStateRoute, async ({ project, caller, params }) =>
      getReviewState(deps, { ...params, project, caller }),
    ),
    handle(contract.editReviewStateRoute, async ({ project, caller, params, body }) =>
      editReviewState(deps, { ...body, ...params, project, caller }),
    ),
    handle(contract.listVersionsRoute, async ({ project, params }) => {
      const cr = await requireChangeRequest(deps.db, project.project_id, params.crId)
      return { versions: await versionsOf(deps.db, cr.cr_id) }
    }),
  ]
}
