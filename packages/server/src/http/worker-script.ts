/**
 * Service workers of the origins beside the API's. One that a program registered stays in every browser that met it and goes on
 * answering for its origin when the program was replaced, because a browser keeps a worker whose script it can no longer load.
 * So a script that the program does not serve any more is answered with one that ends the worker.
 */
import type { IncomingMessage, OutgoingHttpHeaders } from 'node:http'

/** A browser asks for the script of a worker, to register it or to see whether it changed. No page sends this by itself. */
export function asksForWorker(request: IncomingMessage): boolean {
  return request.headers['service-worker'] === 'script'
}

/** An error of the program or of the way to it may pass; everything else that is no script is no worker of this program. */
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
      // An update counts only when its script may have the scope of the worker.
      'service-worker-allowed': '/',
    },
  })
}

/** A script is never kept: from a cache, a worker would see for a day that nothing changed. */
export const neverKept: OutgoingHttpHeaders = { 'cache-control': 'no-store' }
