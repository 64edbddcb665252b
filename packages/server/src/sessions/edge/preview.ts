/** Previews: a port of a session on its own origin, `http://<port>--<session>.<preview domain>`. */
import { LRUCache } from 'lru-cache'
import { isUuid } from '../../auth/allow.ts'
import { sha256 } from '../../auth/credentials.ts'
import type { Deps } from '../../deps.ts'
import type { IngressHandler } from '../../http/ingress.ts'
import type { Message } from '../../http/message-page.ts'
import { brokenWords, reloads } from '../../sandboxes/origin-page.ts'
import { type Grant, originOf, privateOriginIngress, ticketMs, ticketName } from '../../sandboxes/private-origin.ts'
import { getSessionById, type SessionWithSandbox } from '../store.ts'
import { findGrant, insertGrant, type PreviewGrant, takeTicket, touchSession } from './preview-store.ts'

const touchEveryMs = 60_000

interface Place {
  port: number
  sessionId: string
}

type GrantDeps = Pick<Deps, 'db' | 'now' | 'randomBytes'>

export async function openPreview(
  deps: GrantDeps & Pick<Deps, 'config'>,
  { userId, tokenId, ...place }: Place & Omit<Grant, 'sessionId'>,
): Promise<string> {
  const ticket = await grant(deps, place, { userId, tokenId, isTicket: true, ms: ticketMs })
  return `${originOf(deps.config, `${place.port}--${place.sessionId}`)}/?${ticketName}=${ticket}`
}

async function grant(
  deps: GrantDeps,
  { port, sessionId }: Place,
  { userId, tokenId, isTicket, ms }: Omit<Grant, 'sessionId'> & { isTicket: boolean; ms: number },
): Promise<string> {
  const value = Buffer.from(deps.randomBytes(isTicket ? 24 : 32)).toString('base64url')
  await insertGrant(deps.db, {
    sha256: sha256(value),
    is_ticket: isTicket,
    session_id: sessionId,
    port,
    user_id: userId,
    // The grant must not outlive the token that requested it.
    token_id: tokenId,
    expires_at: new Date(deps.now().getTime() + ms),
  })
  return value
}

/** Takes every host name below the preview domain, so that the API never answers there. */
export function previewIngress(deps: Deps): IngressHandler {
  const touched = new LRUCache<string, true>({ max: 10_000, ttl: touchEveryMs })
  const touch = (sessionId: string) => {
    if (touched.has(sessionId)) return
    touched.set(sessionId, true)
    touchSession(deps.db, sessionId).catch((error: unknown) =>
      deps.log.warn({ err: error, session_id: sessionId }, 'recording the use of a preview failed'),
    )
  }
  const grantOf = ({ port, sessionId }: Place, row: PreviewGrant | null) =>
    row === null || row.session_id !== sessionId || row.port !== port
      ? null
      : { userId: row.user_id, tokenId: row.token_id, sessionId: null }
  return privateOriginIngress<Place>(deps, {
    noun: 'preview',
    addressHint: { text: 'An address has the form <port>--<session>.<preview domain>.' },
    takes: () => true,
    placeOf: (label) => Promise.resolve(placeOf(label)),
    keyOf: ({ port, sessionId }) => `${sessionId} ${port}`,
    takeTicket: async (place, value) => grantOf(place, await takeTicket(deps.db, sha256(value))),
    findGrant: async (place, value) => grantOf(place, await findGrant(deps.db, sha256(value))),
    grantCookie: (place, { userId, tokenId }, ms) => grant(deps, place, { userId, tokenId, isTicket: false, ms }),
    async projectOf({ sessionId }) {
      const session = await getSessionById(deps.db, sessionId)
      return session === null ? null : { projectId: session.project_id, sessionId }
    },
    async targetOf({ port, sessionId }) {
      const daemon = deps.sessions.daemonOf(sessionId)
      if (daemon === null) return { words: notRunningWords(sessionId, await getSessionById(deps.db, sessionId)) }
      touch(sessionId)
      return { daemon, port }
    },
    openCommand: ({ port, sessionId }) => `svc sessions preview ${sessionId.slice(0, 8)} ${port}`,
    failed({ port }, failure) {
      if (failure.kind !== 'refused' || failure.code !== 'nothing_listens')
        return brokenWords(`The program on port ${port}`)
      return {
        code: 'preview_unreachable',
        title: `Nothing listens on port ${port} yet`,
        text: `Start a server on port ${port} in the session. This page reloads every two seconds.`,
        again: reloads.again,
      }
    },
  })
}

function notRunningWords(sessionId: string, session: SessionWithSandbox | null): Message {
  const code = 'unavailable'
  const { status = 'deleted', error = null } = session ?? {}
  if (status === 'provisioning') return { code, title: 'The session is starting', ...reloads }
  if (status === 'running')
    return { code, title: 'The session runs on another server', text: 'Open the preview there.', again: 10 }
  return {
    code,
    title: `The session is ${status}`,
    text: `${error ?? ''} To restart it:`.trim(),
    command: `svc sessions restart ${sessionId.slice(0, 8)}`,
  }
}

function placeOf(label: string): Place | null {
  const [, port = '', sessionId = ''] = /^([1-9][0-9]{0,4})--([0-9a-f-]{36})$/.exec(label) ?? []
  return Number(port) <= 65_535 && isUuid(sessionId) ? { port: Number(port), sessionId } : null
}
