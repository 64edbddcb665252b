/**
 * Service workers of the origins beside the API's. A worker that a program registered stays in every browser that
 * loaded it and keeps answering for its origin after the program is replaced, because a browser keeps a worker whose
 * script it cannot load. So a script that the program no longer serves is answered with one that unregisters the
 * worker.
 */
import type { IncomingMessage, OutgoingHttpHeaders } from 'node:http'

/** Whether the browser requests a worker's script, to register or update it. A page cannot send this header itself. */
export function asksForWorker(request: IncomingMessage): boolean {
  return request.headers['service-worker'] === 'script'
}

/** An error of the program or the connection may pass; any other response that is not a script means that the program has no such worker. */
export function isNoWorker(status: number, contentType: string | undefined): boolean {
  if (status >= 500 || status === 304) return false
  return (
    status < 200 || status >= 300 || !/^\s*(?:text|application)\/(?:x-)?(?:java|ecma)script/i.test(contentType ?? '')
  )
}

const script = `self.addEventListener('install', () => self.skipWaiting())
self.addEventListener('activate', (event) => event.waitUntil(self.registration.unregister()
  .then(() => self.clients.matchAll({ type: 'window' }))
  .then((windows) => Promise.all(windows.map((one) => one.navigate(one.url).catch(() => {}))))))
`

export function endingWorker(): Response {
  return new Response(script, {
    headers: {
      'content-type': 'text/javascript; charset=utf-8',
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      // The browser accepts an update only if its script may have the worker's scope.
      'service-worker-allowed': '/',
    },
  })
}

/** Never cached: from a cache, a worker would see no change for a day. */
export const neverKept: OutgoingHttpHeaders = { 'cache-control': 'no-store' }
