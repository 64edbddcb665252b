import { sandboxKeyPrefix } from '@svc/contract'
import type { Deps } from '../deps.ts'

/** Derived from the id of the sandbox, so that the server need not store it. */
export function sandboxKey(deps: Pick<Deps, 'keyring'>, sandboxId: string): string {
  return sandboxKeyPrefix + deps.keyring.derive(`service key of sandbox ${sandboxId}`).toString('hex')
}
