/** The request of the server that takes over another one, to the server with the copy. */
import type { Deps } from '../deps.ts'
import type { App } from '../http/mount.ts'
import { answerServer } from '../projects/replicas/ingress.ts'
import { replicaPath } from '../projects/replicas/peer.ts'
import { promote, type Promote } from './promote.ts'

export function promoteIngress(app: App, deps: Deps): void {
  app.post(
    `${replicaPath}/:id/promote`,
    answerServer(deps, async ({ c, projectId }) => promote(deps, { ...((await c.req.json()) as Promote), projectId })),
  )
}
