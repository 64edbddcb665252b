/**
 * Previews in a frame of the dashboard: who may frame them, and how a frame starts.
 * docs/decisions/0064-previews-in-a-frame.md says why.
 */
import { randomBytes } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { headerLines } from '@svc/contract/daemon/raw-headers'
import type { Config } from '../config.ts'

type Addresses = Pick<Config, 'publicUrl' | 'previewDomain'>

const isNameOfThisMachine = (name: string) => /(^|\.)localhost$/i.test(name)
const isLoopback = (name: string) => isNameOfThisMachine(name) || /^(127(\.\d+){3}|\[::1\])$/.test(name)

/**
 * Whether a frame can sign in: its cookie has to be `Secure`, which browsers store over https, and over http for names of
 * this machine. From another machine, those names lead to that machine. `frame-ancestors` cannot name a dashboard whose
 * host is an IPv6 address.
 */
export function canFrame({ publicUrl, previewDomain }: Addresses): boolean {
  const { protocol, hostname } = new URL(publicUrl)
  if (hostname.startsWith('[')) return false
  return isNameOfThisMachine(previewDomain) ? isLoopback(hostname) : protocol === 'https:'
}

/** The sources of `frame-ancestors` on every response of a preview: its own pages, and the dashboard. */
export function frameAncestors({ publicUrl }: Pick<Addresses, 'publicUrl'>): string {
  const { origin, protocol, hostname, port } = new URL(publicUrl)
  if (!isLoopback(hostname)) return `'self' ${origin}`
  // A server on loopback serves its pages under both names.
  const names = new Set([hostname, 'localhost', '127.0.0.1'])
  // A source cannot be an IPv6 address.
  names.delete('[::1]')
  return ["'self'", ...[...names].map((name) => `${protocol}//${name}${port === '' ? '' : `:${port}`}`)].join(' ')
}

/** Whether the browser loads a document into a frame, which only the browser can state. */
export function isFramedNavigation({ headers }: IncomingMessage): boolean {
  return (
    headers['sec-fetch-mode'] === 'navigate' &&
    ['iframe', 'frame', 'embed', 'object', 'fencedframe'].includes(String(headers['sec-fetch-dest']))
  )
}

/**
 * Whether a page of this origin sent the request. `isForeign` has refused wrong origins; an upgrade has an origin, but
 * `Sec-Fetch-Site` only in some browsers.
 */
export function isOwnRequest({ headers }: IncomingMessage): boolean {
  const { origin, 'sec-fetch-site': site, 'sec-fetch-mode': mode, 'sec-fetch-dest': dest } = headers
  if (dest === 'document') return false
  return site === 'same-origin' || (site === undefined && mode === undefined && origin !== undefined)
}

const stepMark = 'svc_step=1'
const endsWithStep = new RegExp(`[?&]${stepMark}$`)

/**
 * What to do before a program sees a framed navigation. `enter`: another page started it, so the browser first has to
 * load a page of ours, which it refuses in a foreign frame. `leave`: that page was loaded.
 */
export function frameStep(
  request: IncomingMessage,
): { kind: 'none' | 'enter' | 'foreign' } | { kind: 'leave'; path: string } {
  if (!isFramedNavigation(request) || request.method !== 'GET') return { kind: 'none' }
  const path = request.url ?? '/'
  const isMarked = endsWithStep.test(path)
  if (isOwnRequest(request))
    return isMarked ? { kind: 'leave', path: path.replace(endsWithStep, '') } : { kind: 'none' }
  // A frame with an opaque origin would load that page again and again.
  return { kind: isMarked ? 'foreign' : 'enter' }
}

/** Loads the path again as the preview's own page. A script does that, because only a script knows the fragment. */
export function stepPage(path: string, ancestors: string): Response {
  const nonce = randomBytes(16).toString('base64')
  const next = JSON.stringify(`${path}${path.includes('?') ? '&' : '?'}${stepMark}`).replaceAll('<', '\\u003c')
  const html = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Opening the preview</title>
<script nonce="${nonce}">location.replace(${next} + location.hash)</script>
</html>
`
  return new Response(html, {
    headers: {
      'content-type': 'text/html; charset=utf-8',
      'cache-control': 'no-store',
      'content-security-policy': `default-src 'none'; script-src 'nonce-${nonce}'; base-uri 'none'; form-action 'none'; frame-ancestors ${ancestors}`,
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
    },
  })
}

/**
 * The `frame-ancestors` to add to the headers of a program, whose own policies stay. `X-Frame-Options` is repeated in
 * it, because browsers ignore that header beside a `frame-ancestors`.
 */
export function ancestorsBeside(rawHeaders: string[], ours: string): string {
  if (ownAncestors(rawHeaders).length > 0) return ours
  const options = new Set(
    headerLines(rawHeaders, 'x-frame-options')
      .flatMap((value) => value.split(','))
      .map((value) => value.trim().toLowerCase()),
  )
  const isKnown = ['deny', 'sameorigin', 'allowall'].some((option) => options.has(option))
  if (options.has('deny') || (options.size > 1 && isKnown)) return "'none'"
  return options.has('sameorigin') ? "'self'" : ours
}

/** Whether the program lets only its own pages frame it, or none. The browser judges longer lists. */
export function refusesFrame(rawHeaders: string[], ours: string): boolean {
  const isClosed = (sources: string[]) => sources.every((source) => source === "'self'" || source === "'none'")
  return ownAncestors(rawHeaders).some(isClosed) || ancestorsBeside(rawHeaders, ours) !== ours
}

/** The sources of each policy that has the directive. Of two in one policy, browsers read the first. */
function ownAncestors(rawHeaders: string[]): string[][] {
  return headerLines(rawHeaders, 'content-security-policy')
    .flatMap((value) => value.split(','))
    .flatMap((policy) => {
      const directives = policy.split(';').map((directive) => directive.trim().toLowerCase().split(/\s+/))
      const found = directives.find(([name]) => name === 'frame-ancestors')
      return found === undefined ? [] : [found.slice(1)]
    })
}
