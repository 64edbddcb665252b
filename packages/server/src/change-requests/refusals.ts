import { ServiceError } from '@svc/contract'

export function refMissing(ref: string): ServiceError {
  return new ServiceError('ref_missing', `The branch ${JSON.stringify(ref)} is no longer there.`, {
    hint: 'Push it again, or close this change request.',
    detail: { ref },
  })
}
