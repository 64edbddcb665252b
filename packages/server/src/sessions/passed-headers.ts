/** What passes between a browser and a program in a sandbox, and what ends here. */
import { passedHeaders } from '@svc/contract/raw-headers'

/** Who asks, and by which name, is for us to say. */
const claims = /^(x-forwarded-|forwarded$|x-real-ip$|x-svc-)/
/** Of an answer: they act on more than the page that came with them, or on the proxies in front of us. */
const reaching =
  /^(clear-site-data|alt-svc|strict-transport-security|public-key-pins(-report-only)?|expect-ct|nel|report-to|(sec|secure)-session-.*|set-login|use-as-dictionary|x-accel-.*|x-sendfile|x-svc-.*)$/

/** Ours, in every spelling: no program in a sandbox sees or sets them. */
const ownCookie = /^(__Host-|__Secure-)?svc_/i

/** `credentials`: what the caller signs in with is for the program, which has an origin of its own, or it is for us and ends here. */
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
  const kept = value.split(';').filter((pair) => !ownCookie.test(pair.trim()))
  return kept.length === 0 ? null : kept.join(';').trim()
}

/** A cookie with a Domain would reach our own pages, and other previews. */
function isHostOnly(cookie: string): boolean {
  const [pair = '', ...attributes] = cookie.split(';')
  return !ownCookie.test(pair.trim()) && !attributes.some((attribute) => /^\s*domain\s*(=|$)/i.test(attribute))
}
