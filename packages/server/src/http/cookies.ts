/** The cookies of this server's own pages. */
import { parse } from 'hono/utils/cookie'

type CookieName = 'session' | 'device' | 'oidc'

/** `__Host-` requires https, so an http server on loopback uses the plain name. */
function fullName(publicUrl: string, name: CookieName): string {
  return `${publicUrl.startsWith('https:') ? '__Host-' : ''}svc_${name}`
}

export function readCookie(publicUrl: string, name: CookieName, header: string | null | undefined): string | undefined {
  return header == null ? undefined : parse(header)[fullName(publicUrl, name)]
}

/** The Set-Cookie header. An age of zero clears the cookie. */
export function setCookie(publicUrl: string, name: CookieName, value: string, maxAgeSeconds: number): string {
  const secure = publicUrl.startsWith('https:') ? '; Secure' : ''
  return `${fullName(publicUrl, name)}=${value}; Path=/; HttpOnly; SameSite=Lax; Max-Age=${maxAgeSeconds}${secure}`
}

/** Whether a browser sends the cookie of a signed-in user, valid or not. */
export function hasDashboardCookie(header: string | null | undefined): boolean {
  return /(?:^|;)\s*(?:__Host-)?svc_session=/.test(header ?? '')
}
