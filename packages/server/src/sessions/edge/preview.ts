/** Previews: a port of a session on its own origin, `http://<port>--<session>.<preview domain>`. */
import { LRUCache } from 'lru-cache'
import { isUuid } from '../../auth/allow.ts'
import type { Deps } from '../../deps.ts'
import type { IngressHandler } from '../../http/ingress.ts'
import type { Message } from '../../http/message-page.ts'
import { brokenWords, comingBack, reloads, unframeableWords } from '../../sandboxes/origin-page.ts'
import { privateOriginIngress } from '../../sandboxes/private-origin.ts'
import { getSessionById, type SessionWithSandbox } from '../store.ts'
import { touchSession } from '../activity-store.ts'

const touchEveryMs = 60_000

interface Place {
  port: number
  sessionId: string
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
  return privateOriginIngress<Place, 'preview_grants'>(deps, {
    noun: 'preview',
    grants: 'preview_grants',
    grantedPlace: ({ port, sessionId }) => ({ session_id: sessionId, port }),
    addressHint: { text: 'A URL has the form <port>--<session>.<preview domain>.' },
    takes: () => true,
    isFramed: true,
    placeOf: (label) => Promise.resolve(placeOf(label)),
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
      if (failure.kind === 'unframeable') return unframeableWords(`The program on port ${port}`)
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
    return { code, title: 'The session is coming back', ...reloads, text: `${comingBack} ${reloads.text}` }
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
