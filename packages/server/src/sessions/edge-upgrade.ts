/** WebSockets through `sandbox_url`: asked the same questions as a request there, then a raw pipe. */
import { relayPort, ServiceError } from '@svc/contract'
import type { Deps } from '../deps.ts'
import type { Door } from '../http/door.ts'
import { closeUnlessAdmitted } from '../http/while-admitted.ts'
import { admit } from './edge.ts'
import { credentialsOfUpgrade, upgradeDoor } from './upgrade-door.ts'

const pattern = /^\/v1\/sandboxes\/([^/?#]+)\//

export function sandboxDoor(deps: Deps): Door {
  return upgradeDoor(deps, pattern, async (request, socket) => {
    const judge = () =>
      admit(deps, {
        sandboxId: pattern.exec(request.url ?? '')?.[1] ?? '',
        url: new URL(request.url ?? '/', `http://127.0.0.1:${relayPort}`),
        method: request.method ?? 'GET',
        credentials: credentialsOfUpgrade(deps, request),
      })
    const admitted = await judge()
    if (admitted.kind === 'health') throw new ServiceError('invalid', 'This address does not upgrade.')
    closeUnlessAdmitted(deps, socket, judge)
    return admitted
  })
}
