/** WebSockets through `sandbox_url`: authorized like requests, then a raw pipe. */
import { relayPort, ServiceError } from '@svc/contract'
import type { Deps } from '../../deps.ts'
import type { IngressHandler } from '../../http/ingress.ts'
import { closeUnlessAdmitted } from '../../http/admission/while-admitted.ts'
import { admit, type EdgeRoot } from './sandbox-url.ts'
import { credentialsOfUpgrade, upgradeIngress } from './upgrade.ts'

const pattern = /^(\/v1\/sandboxes|\/v1\/p)\/([^/?#]+)\//

export function sandboxIngress(deps: Deps): IngressHandler {
  return upgradeIngress(deps, pattern, async (request, socket) => {
    const [, root, id = ''] = pattern.exec(request.url ?? '') ?? []
    const judge = () =>
      admit(deps, {
        root: root as EdgeRoot,
        id,
        url: new URL(request.url ?? '/', `http://127.0.0.1:${relayPort}`),
        method: request.method ?? 'GET',
        credentials: credentialsOfUpgrade(deps, request),
      })
    const admitted = await judge()
    if (admitted.kind === 'health') throw new ServiceError('invalid', 'This URL does not support upgrades.')
    closeUnlessAdmitted(deps, socket, judge)
    return admitted
  })
}
