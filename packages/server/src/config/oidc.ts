import type { Settings } from './settings.ts'

/** An OpenID Connect provider for signing in, besides links and passwords. */
export function readOidc(settings: Settings) {
  const issuer = settings.text('SVC_OIDC_ISSUER')
  const clientId = settings.text('SVC_OIDC_CLIENT_ID')
  const clientSecret = settings.text('SVC_OIDC_CLIENT_SECRET')
  if (issuer === null && clientId === null && clientSecret === null) return null
  if (issuer === null || clientId === null || clientSecret === null) {
    settings.problem(
      ['SVC_OIDC_ISSUER', 'SVC_OIDC_CLIENT_ID', 'SVC_OIDC_CLIENT_SECRET'],
      'SVC_OIDC_ISSUER, SVC_OIDC_CLIENT_ID and SVC_OIDC_CLIENT_SECRET go together: set all or none.',
    )
    return null
  }
  const url = URL.canParse(issuer) ? new URL(issuer) : null
  // Anyone who can change traffic between the server and the issuer can sign in as any user.
  if (url === null || !(url.protocol === 'https:' || (url.protocol === 'http:' && isLoopback(url.hostname)))) {
    settings.refuse('SVC_OIDC_ISSUER', 'must be an https URL')
    return null
  }
  const name = (settings.text('SVC_OIDC_NAME') ?? url.host).trim()
  if (name.length > 60) settings.problem(['SVC_OIDC_NAME'], 'SVC_OIDC_NAME must be a name of at most 60 characters.')
  /** `name` is the provider's name on the sign-in button. */
  return { issuer, clientId, clientSecret, name }
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '[::1]' || /^127(\.\d{1,3}){3}$/.test(host)
}
