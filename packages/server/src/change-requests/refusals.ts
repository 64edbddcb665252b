import { ServiceError } from '@svc/contract'

export function refMissing(ref: string): ServiceError {
  return new ServiceError('ref_missing', `The branch ${JSON.stringify(ref)} no longer exists.`, {
    hint: 'Push it again, or close this change request.',
    detail: { ref },
  })
}
