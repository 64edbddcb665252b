/** Filters the headers between a browser and a program in a sandbox. */
import { passedHeaders } from '@svc/contract/daemon/raw-headers'

/** Only the server states who sends a request, and for which host. It has asked for the body of a client that expects it to. */
const claims = /^(x-forwarded-|forwarded$|x-real-ip$|x-svc-|expect$)/
/** Response headers that affect more than their own page, or a proxy in front of the server. */
const reaching =
  /^(clear-site-data|alt-svc|strict-transport-security|public-key-pins(-report-only)?|expect-ct|nel|report-to|(sec|secure)-session-.*|set-login|use-as-dictionary|x-accel-.*|x-sendfile|x-svc-.*)$/

/** Cookies of the service, which no program in a sandbox may read or set. */
const ownCookie = /^(__Host-|__Secure-)?svc_/i

/** `credentials`: whether Authorization and cookies are for the program, which has its own origin, or for the server, which removes them. */
export function requestHeaders(rawHeaders: string[], credentials: 'for the program' | 'for us'): string[] {
  return passedHeaders(rawHeaders, (name, value) => {
    if (claims.test(name)) return null
    if (credentials === 'for us' && (name === 'authorization' || name === 'cookie')) return null
    return name === 'cookie' ? withoutOwnCookies(value) : value
  })
}

export function answerHeaders(rawHeaders: string[]): string[] {
  return passedHeaders(rawHeaders, (name, value) => {
    if (reaching.test(name)) return null
    return name === 'set-cookie' && !isHostOnly(value) ? null : value
  })
}

function withoutOwnCookies(value: string): string | null {
  const passed = value.split(';').filter((pair) => !ownCookie.test(pair.trim()))
  return passed.length === 0 ? null : passed.join(';').trim()
}

/** A cookie with a Domain would reach the pages of the service and other previews. */
function isHostOnly(cookie: string): boolean {
  const [pair = '', ...attributes] = cookie.split(';')
  return !ownCookie.test(pair.trim()) && !attributes.some((attribute) => /^\s*domain\s*(=|$)/i.test(attribute))
}
