/** A shell in the sandbox of a session, for whoever may prompt it: a WebSocket that is judged here and passed on to the daemon. */
import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { ServiceError } from '@svc/contract'
import { headerLines } from '@svc/contract/raw-headers'
import { terminalPath, terminalRoute } from '@svc/contract/terminal'
import { recordAudit } from '../audit/record.ts'
import { boundSession, type Caller } from '../auth/actor.ts'
import { allow, isUuid, notFound, refuseByPath } from '../auth/allow.ts'
import { authenticate, type Credentials } from '../auth/authenticate.ts'
import type { Deps } from '../deps.ts'
import { type Door, writeResponse } from '../http/door.ts'
import { isOwnHost } from '../http/host-allow-list.ts'
import { replyError } from '../http/reply-error.ts'
import { auditOf } from './audit.ts'
import type { DaemonAddress } from './daemon-client.ts'
import { touchSession } from './preview-store.ts'
import { getSession, type SessionWithSandbox } from './store.ts'
import { passUpgrade } from './tunnel.ts'

const pattern = new RegExp(`^${terminalRoute.replace(/:\w+/g, '([^/?#]+)')}(?:\\?|$)`)
/** How long somebody who was sent away, or whose session is another's by now, still has a shell. */
const judgeEveryMs = 15_000
const touchEveryMs = 60_000

export function terminalDoor(deps: Deps): Door {
  return {
    takes: (request, upgrades) => upgrades && pattern.test(request.url ?? ''),
    async request() {
      throw new Error('Only upgrades come here.')
    },
    async upgrade(request, socket, head) {
      const id = deps.newId()
      const about = { id, method: request.method ?? '', path: (request.url ?? '').slice(0, 500) }
      const refuse = (error: unknown) => writeResponse(socket, replyError(error, about, deps))
      try {
        const { session, daemon, caller, role } = await judge(deps, request, id)
        await recordAudit(deps.db, caller, auditOf(session, 'terminal'))
        watch(deps, request, socket, session)
        await passUpgrade(
          request,
          socket,
          head,
          {
            daemon,
            path: terminalPath + new URL(request.url ?? '/', 'http://svc').search,
            userId: caller.actor.user_id,
            role,
            credentials: 'for us',
            extra: [],
            answerExtra: { 'x-request-id': id },
          },
          () => void refuse(new ServiceError('unavailable', 'The daemon of this sandbox does not answer.')),
        )
      } catch (error) {
        await refuse(error)
      }
    },
  }
}

interface Judged {
  session: SessionWithSandbox
  daemon: DaemonAddress
  caller: Caller
  role: string
}

async function judge(deps: Deps, request: IncomingMessage, requestId: string): Promise<Judged> {
  const [, projectId = '', sessionId = ''] = pattern.exec(request.url ?? '') ?? []
  const actor = await authenticate(deps, credentialsOf(deps, request))
  refuseByPath(actor, `/v1/projects/${projectId}`)
  const { project } = await allow(deps, { access: 'project-write', actor, projectId })
  if (boundSession(actor) !== null)
    throw new ServiceError('forbidden', 'An agent has a shell of its own; a terminal is for people.')
  const session = isUuid(sessionId) ? await getSession(deps.db, projectId, sessionId) : null
  if (session === null || project === null) throw notFound('session')
  if (session.status !== 'running')
    throw new ServiceError('conflict', `The session is ${session.status}, so there is no sandbox to look into.`, {
      hint: 'Restart it, or send a prompt.',
    })
  const daemon = deps.keeper.daemonOf(session.session_id)
  if (daemon === null) throw new ServiceError('runtime_booting', 'The sandbox is still starting.')
  const address = request.socket.remoteAddress ?? 'unknown'
  return { session, daemon, caller: { actor, requestId, address }, role: project.role }
}

/** A cookie is believed where it would be for a write: from this server's own pages. */
function credentialsOf(deps: Pick<Deps, 'config'>, request: IncomingMessage): Credentials {
  const { host = '', origin = null, cookie = null } = request.headers
  if (headerLines(request.rawHeaders, 'host').length !== 1 || !isOwnHost(deps.config, host))
    throw new ServiceError('forbidden', 'This server does not answer for that name.')
  const authorization = headerLines(request.rawHeaders, 'authorization')
  if (authorization.length > 1) throw new ServiceError('invalid', 'More than one Authorization header was sent.')
  return {
    authorization: authorization[0] ?? null,
    cookie,
    method: 'POST',
    origin,
    secFetchSite: (request.headers['sec-fetch-site'] as string | undefined) ?? null,
    host,
  }
}

/** While it is open: who has it is asked for again, and what passes keeps the session from falling asleep. */
function watch(deps: Deps, request: IncomingMessage, socket: Duplex, session: SessionWithSandbox): void {
  const judging = setInterval(() => {
    judge(deps, request, '').catch((error: unknown) => {
      // The database being away takes nobody's right.
      if (error instanceof ServiceError && error.code !== 'unavailable') socket.destroy()
    })
  }, judgeEveryMs)
  let touched = 0
  socket.on('data', () => {
    if (deps.now().getTime() - touched < touchEveryMs) return
    touched = deps.now().getTime()
    touchSession(deps.db, session.session_id).catch((error: unknown) =>
      deps.log.warn({ session_id: session.session_id, err: error }, 'the use of a terminal was not noted'),
    )
  })
  // The tunnel's pipe begins when the daemon has answered; until then nothing may flow past it.
  socket.pause()
  socket.on('close', () => clearInterval(judging))
}
