/** What passes between a browser and a program in a sandbox, and what ends here. */
import { headerLines } from '../http/door.ts'

/** Connection-bound headers (RFC 9110, 7.6.1): their meaning ends at this hop. */
const hopByHop = new Set([
  ...['connection', 'keep-alive', 'proxy-authenticate', 'proxy-authorization', 'proxy-connection'],
  ...['te', 'trailer', 'transfer-encoding', 'upgrade', 'host'],
])
/** Who asks, and by which name, is for us to say. */
const claims = /^(x-forwarded-|forwarded$|x-real-ip$|x-svc-)/
/** Of an answer: they act on more than the page that came with them, or on the proxies in front of us. */
const reaching =
  /^(clear-site-data|alt-svc|strict-transport-security|public-key-pins(-report-only)?|expect-ct|nel|report-to|x-accel-.*|x-sendfile|x-svc-.*)$/

/** Ours, in every spelling: no program in a sandbox sees or sets them. */
const ownCookie = /^(__Host-|__Secure-)?svc_/i

export function requestHeaders(rawHeaders: string[]): string[] {
  return filtered(rawHeaders, (name, value) => {
    if (claims.test(name)) return null
    return name === 'cookie' ? withoutOwnCookies(value) : value
  })
}

export function answerHeaders(rawHeaders: string[]): string[] {
  return filtered(rawHeaders, (name, value) => {
    if (reaching.test(name)) return null
    return name === 'set-cookie' && !isHostOnly(value) ? null : value
  })
}

function filtered(rawHeaders: string[], pass: (name: string, value: string) => string | null): string[] {
  const named = new Set(
    headerLines(rawHeaders, 'connection').flatMap((value) => value.split(',').map((name) => name.trim().toLowerCase())),
  )
  const kept: string[] = []
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    const name = rawHeaders[i]!.toLowerCase()
    if (hopByHop.has(name) || named.has(name)) continue
    const value = pass(name, rawHeaders[i + 1]!)
    if (value !== null) kept.push(rawHeaders[i]!, value)
  }
  return kept
}

function withoutOwnCookies(value: string): string | null {
  const kept = value.split(';').filter((pair) => !ownCookie.test(pair.trim()))
  return kept.length === 0 ? null : kept.join(';').trim()
}

/** A cookie with a Domain would reach our own pages, and other previews. */
function isHostOnly(cookie: string): boolean {
  const [pair = '', ...attributes] = cookie.split(';')
  return !ownCookie.test(pair.trim()) && !attributes.some((attribute) => /^\s*domain\s*(=|$)/i.test(attribute))
}

export function asObject(flat: string[]): Record<string, string | string[]> {
  // Without a prototype, so that a header called __proto__ is a header.
  const headers = Object.create(null) as Record<string, string | string[]>
  for (let i = 0; i + 1 < flat.length; i += 2) {
    const name = flat[i]!.toLowerCase()
    const before = headers[name]
    const value = flat[i + 1]!
    if (before === undefined) headers[name] = value
    else headers[name] = Array.isArray(before) ? [...before, value] : [before, value]
  }
  return headers
}
