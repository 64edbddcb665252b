import { ServiceError } from '@svc/contract'

/** Held by the server that deletes merged branches of the project. */
export const deletionLock = (projectId: string) => `delete branches ${projectId}`

/** `message` names what needs a branch that the job of SVC_KEEP_BRANCHES deletes at this moment. */
export function branchIsLeaving(message: string): ServiceError {
  return new ServiceError('unavailable', message, {
    hint: 'Nothing was changed. Push the branch again, then send the request again.',
    detail: { retry_after_seconds: 10 },
  })
}
