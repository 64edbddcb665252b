/** A restored server only answers reads, and lets people sign in to read, until its operator resumes it. */
import { ServiceError } from '@svc/contract'
import type { MiddlewareHandler } from 'hono'
import type { Deps } from '../../deps.ts'
import { replyError } from '../../http/reply-error.ts'
import type { Bindings } from '../../http/request-info.ts'
import { inLines, isGitClient } from '../../projects/git-gateway.ts'

const readMethods = ['GET', 'HEAD', 'OPTIONS']

/** The first request of a push. git shows the reason of a refusal here, but not of one that comes after it. */
const pushBegins = /^\/v1\/projects\/[^/]+\/git\/info\/refs$/

/** Requests with another method that change nothing of a project: signing in and out, also of a client, which needs a token. */
const openPaths = [
  /^\/v1\/sign-(in|out)(\/|$)/,
  /^\/v1\/cli-logins\/redeem$/,
  /^\/v1\/accounts\/(cli-logins|confirm|owner-links)$/,
  /^\/v1\/accounts\/(tokens|dashboard-sessions)(\/[^/]+)?$/,
  /^\/v1\/projects\/[^/]+\/git\/git-upload-pack$/,
]

export function refuseWhileHeld(
  deps: Deps,
): MiddlewareHandler<{ Bindings: Bindings; Variables: { requestId: string } }> {
  return async (c, next) => {
    const { held } = deps.hold
    const { method, path } = c.req
    const begins = pushBegins.test(path) && c.req.query('service') === 'git-receive-pack'
    const isOpen = (readMethods.includes(method) && !begins) || openPaths.some((each) => each.test(path))
    if (held === null || isOpen) return next()
    const error = new ServiceError('unavailable', 'This server was restored from a backup and is held.', {
      hint: 'It answers reads only, so that it does nothing beside its original. Its operator lets it act: svc self-host resume',
      detail: { held: true, backup_id: held.backup_id, waiting_for: 'operator' },
    })
    const answer = replyError(error, { id: c.get('requestId'), method, path }, deps)
    return isGitClient(c.req.header('user-agent')) ? inLines(answer) : answer
  }
}
