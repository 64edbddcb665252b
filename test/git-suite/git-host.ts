/** Our git host at the places where the tests' Apache would start git-http-backend. */
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { join, normalize } from 'node:path'
import { Readable } from 'node:stream'
import { serveGateway, type GitRequest } from '@svc/git'

export interface Asked {
  root: string
  /** The whole path, which selects the settings. */
  place: string
  /** The repository's path and the requested service. */
  path: string
  query: URLSearchParams
  request: IncomingMessage
  response: ServerResponse
  user: string | null
}

export async function serveRepository(asked: Asked): Promise<Response> {
  const [, name = '', action] = /^(.*?)\/*(info\/refs|git-upload-pack|git-receive-pack)$/.exec(asked.path) ?? []
  const dir = action === undefined ? null : findRepository(join(asked.root, 'www', normalize(`/${name}`)))
  if (dir === null || !isExported(asked.place, dir)) return new Response('Not Found\n', { status: 404 })
  const pushes = action === 'git-receive-pack' || asked.query.get('service') === 'git-receive-pack'
  if (pushes && !mayPush(dir, asked.user)) return new Response('Forbidden\n', { status: 403 })
  const answer = await serveGateway({ dir, remote: null }, requestOf(asked, action as GitRequest['path']), () => null, {
    allowForce: true,
    allowDelete: true,
    allowAnyRef: true,
    pusher: pusherOf(asked),
  })
  if (asked.place.includes('/smart_cookies/')) answer.headers.set('set-cookie', 'name=value')
  return answer
}

function requestOf({ place, query, request, response }: Asked, path: GitRequest['path']): GitRequest {
  const leaving = new AbortController()
  response.on('close', () => leaving.abort())
  const headers = new Headers(
    Object.entries(request.headers).map(([name, value]): [string, string] => [name, String(value)]),
  )
  // `SetEnv GIT_PROTOCOL`: a host that ignores the requested version.
  if (place.includes('/smart_v0/')) headers.delete('git-protocol')
  const body = Readable.toWeb(request) as unknown as ReadableStream<Uint8Array>
  return { method: request.method ?? 'GET', path, query, headers, body, signal: leaving.signal }
}

/** The pusher's name as git-http-backend reports it. */
function pusherOf({ place, user, request }: Asked): { name: string; email: string } {
  if (place.includes('/smart_custom_env/')) return { name: 'Custom User', email: 'custom@example.com' }
  const name = user ?? 'anonymous'
  return { name, email: `${name}@http.${request.socket.remoteAddress}` }
}

/** The tests make repositories with and without a work tree. */
function findRepository(path: string): string | null {
  return [join(path, '.git'), path].find((dir) => existsSync(join(dir, 'HEAD'))) ?? null
}

/** Without GIT_HTTP_EXPORT_ALL git-http-backend serves only repositories that allow it. */
function isExported(place: string, dir: string): boolean {
  return !place.includes('/smart_noexport/') || existsSync(join(dir, 'git-daemon-export-ok'))
}

/** Permission to push is decided before our host: `http.receivepack` grants it, and otherwise any user name does. */
function mayPush(dir: string, user: string | null): boolean {
  const said = spawnSync('git', [`--git-dir=${dir}`, 'config', '--bool', 'http.receivepack'])
    .stdout.toString()
    .trim()
  return said === '' ? user !== null : said === 'true'
}
