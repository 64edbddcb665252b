/** A shell in the sandbox of a session, for users who may prompt it: authorizes a WebSocket and proxies it to the daemon. */
import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { ServiceError } from '@svc/contract'
import { terminalPath, terminalRoute } from '@svc/contract/daemon/terminal'
import { recordAudit } from '../../audit/record.ts'
import type { Caller } from '../../auth/actor.ts'
import { allow, notFound, refuseByPath } from '../../auth/allow.ts'
import { authenticate } from '../../auth/authenticate.ts'
import type { Deps } from '../../deps.ts'
import { addressOf } from '../../http/connections/client-address.ts'
import type { IngressHandler } from '../../http/ingress.ts'
import { closeUnlessAdmitted } from '../../http/admission/while-admitted.ts'
import { auditOf } from '../audit.ts'
import type { DaemonAddress } from '../../sandboxes/daemon-client.ts'
import { touchSession } from '../activity-store.ts'
import { requireSession, type SessionWithSandbox } from '../store.ts'
import { credentialsOfUpgrade, upgradeIngress } from './upgrade.ts'

const pattern = new RegExp(`^${terminalRoute.replace(/:\w+/g, '([^/?#]+)')}(?:\\?|$)`)
const touchEveryMs = 60_000

export function terminalIngress(deps: Deps): IngressHandler {
  return upgradeIngress(deps, pattern, async (request, socket, id) => {
    const { session, daemon, caller, role } = await judge(deps, request, id)
    await recordAudit(deps.db, caller, auditOf(session, 'terminal'))
    watch(deps, request, socket, session)
    const path = terminalPath + new URL(request.url ?? '/', 'http://svc').search
    return { daemon, path, userId: caller.actor.user_id, role }
  })
}

interface Judged {
  session: SessionWithSandbox
  daemon: DaemonAddress
  caller: Caller
  role: string
}

async function judge(deps: Deps, request: IncomingMessage, requestId: string): Promise<Judged> {
  const [, projectId = '', sessionId = ''] = pattern.exec(request.url ?? '') ?? []
  const actor = await authenticate(deps, credentialsOfUpgrade(deps, request))
  refuseByPath(actor, `/v1/projects/${projectId}`)
  const { project } = await allow(deps, { access: 'project-write', actor, projectId, sessionId })
  if (project === null) throw notFound('session')
  const session = await requireSession(deps.db, project.project_id, sessionId)
  if (session.status !== 'running')
    throw new ServiceError('conflict', `The session is ${session.status}, so it has no sandbox.`, {
      hint: 'Restart it, or send a prompt.',
    })
  const daemon = deps.sessions.daemonOf(session.session_id)
  if (daemon === null) throw new ServiceError('runtime_booting', 'The sandbox is still starting.')
  const address = addressOf(request)
  return { session, daemon, caller: { actor, requestId, address }, role: project.role }
}

/** While the terminal is open, repeats the authorization, and records its traffic as activity of the session. */
function watch(deps: Deps, request: IncomingMessage, socket: Duplex, session: SessionWithSandbox): void {
  closeUnlessAdmitted(deps, socket, () => judge(deps, request, ''))
  let touched = 0
  socket.on('data', () => {
    if (deps.now().getTime() - touched < touchEveryMs) return
    touched = deps.now().getTime()
    touchSession(deps.db, session.session_id).catch((error: unknown) =>
      deps.log.warn({ session_id: session.session_id, err: error }, 'recording the use of a terminal failed'),
    )
  })
  // Data must not flow before the tunnel starts its pipe, after the daemon answered.
  socket.pause()
}
