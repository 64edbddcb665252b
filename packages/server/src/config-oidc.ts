export interface OidcConfig {
  issuer: string
  clientId: string
  clientSecret: string
  /** What people call it; stands on the button. */
  name: string
}

/** An OpenID Connect provider that people sign in with, besides links and passwords. */
export function readOidc(env: Record<string, string | undefined>, problems: string[]): OidcConfig | null {
  const [issuer, clientId, clientSecret] = [
    env.SVC_OIDC_ISSUER || null,
    env.SVC_OIDC_CLIENT_ID || null,
    env.SVC_OIDC_CLIENT_SECRET || null,
  ]
  if (issuer === null && clientId === null && clientSecret === null) return null
  if (issuer === null || clientId === null || clientSecret === null) {
    problems.push('SVC_OIDC_ISSUER, SVC_OIDC_CLIENT_ID and SVC_OIDC_CLIENT_SECRET go together: set all or none.')
    return null
  }
  const url = URL.canParse(issuer) ? new URL(issuer) : null
  // Whoever can change what travels between here and the issuer signs in as anybody.
  if (url === null || !(url.protocol === 'https:' || (url.protocol === 'http:' && isLoopback(url.hostname)))) {
    problems.push(`SVC_OIDC_ISSUER has to be an https address, but is ${JSON.stringify(issuer)}.`)
    return null
  }
  const name = (env.SVC_OIDC_NAME || url.host).trim()
  if (name.length > 60) problems.push('SVC_OIDC_NAME has to be a name of at most 60 characters.')
  return { issuer, clientId, clientSecret, name }
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '[::1]' || /^127(\.\d{1,3}){3}$/.test(host)
}
