/** What is asked of the OpenID Connect provider: where to send a browser, and who came back. */
import * as client from 'openid-client'
import type { OidcConfig } from '../../config-oidc.ts'
import { guardedFetch } from '../../egress/guarded-fetch.ts'

/** What the browser keeps between leaving and coming back, in a cookie of its own: without it nobody can finish what another began. */
export interface Journey {
  state: string
  nonce: string
  verifier: string
  /** The page to go on at. */
  next: string
}

export interface Person {
  issuer: string
  subject: string
  email: string | null
  email_verified: boolean
}

const timeoutSeconds = 10
/** Discovery, keys, tokens and userinfo are a few KiB. */
const answerBytesMax = 1024 * 1024

export class OidcProvider {
  readonly #config: OidcConfig
  readonly #redirectUri: () => string
  /** Kept once found; what failed is asked again. */
  #found: Promise<client.Configuration> | null = null

  constructor(config: OidcConfig, redirectUri: () => string) {
    this.#config = config
    this.#redirectUri = redirectUri
  }

  /** Throws what the provider's discovery answers when it is away or is not one. */
  async begin(next: string): Promise<{ url: URL; journey: Journey }> {
    const found = await this.#discovered()
    const verifier = client.randomPKCECodeVerifier()
    const journey = { state: client.randomState(), nonce: client.randomNonce(), verifier, next }
    const url = client.buildAuthorizationUrl(found, {
      redirect_uri: this.#redirectUri(),
      scope: 'openid email profile',
      state: journey.state,
      nonce: journey.nonce,
      code_challenge: await client.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
    })
    return { url, journey }
  }

  /** `search` is the query the provider sent the browser back with. Throws when anything in it does not fit the journey. */
  async finish(search: string, journey: Journey): Promise<Person> {
    const found = await this.#discovered()
    const tokens = await client.authorizationCodeGrant(found, new URL(this.#redirectUri() + search), {
      pkceCodeVerifier: journey.verifier,
      expectedState: journey.state,
      expectedNonce: journey.nonce,
      idTokenExpected: true,
    })
    const claims = tokens.claims()
    if (claims === undefined) throw new Error('The provider sent no ID token.')
    // Many put the address into the ID token, others only into what userinfo answers.
    const said =
      claims.email === undefined && found.serverMetadata().userinfo_endpoint !== undefined
        ? await client.fetchUserInfo(found, tokens.access_token, claims.sub)
        : claims
    return {
      issuer: claims.iss,
      subject: claims.sub,
      email: typeof said.email === 'string' ? lowerCased(said.email.trim()) : null,
      email_verified: said.email_verified === true,
    }
  }

  #discovered(): Promise<client.Configuration> {
    const found = (this.#found ??= this.#discover())
    found.catch(() => {
      if (this.#found === found) this.#found = null
    })
    return found
  }

  async #discover(): Promise<client.Configuration> {
    const { issuer, clientId, clientSecret } = this.#config
    const url = new URL(issuer)
    // Only loopback may be http: config-oidc.ts. TLS would vouch for an ID token; its signature does so whatever stands on the way.
    const insecure = url.protocol === 'http:' ? [client.allowInsecureRequests] : []
    const execute = [client.enableNonRepudiationChecks, ...insecure]
    const options = { execute, timeout: timeoutSeconds, [client.customFetch]: boundedFetch }
    const found = await client.discovery(url, clientId, clientSecret, undefined, options)
    if (!/^https?:/.test(found.serverMetadata().authorization_endpoint ?? ''))
      throw new Error('The provider names no authorization endpoint that a browser can open.')
    const methods = found.serverMetadata().token_endpoint_auth_methods_supported ?? ['client_secret_basic']
    if (methods.includes('client_secret_post')) return found
    return client.discovery(url, clientId, clientSecret, client.ClientSecretBasic(clientSecret), options)
  }
}

/** The provider's own word is where to send the client's secret, so its addresses are judged. It may stand in a private network. */
const boundedFetch: client.CustomFetch = (url, { body, headers, method, signal }) =>
  guardedFetch({ allowPrivate: true, bytesMax: answerBytesMax, idleMs: timeoutSeconds * 1000 })(url, {
    ...{ headers, method },
    ...(body == null ? {} : { body: body as BodyInit }),
    ...(signal === undefined ? {} : { signal }),
  })

/** Of plain letters alone: Unicode makes the Kelvin sign a k, and another mailbox this one. */
function lowerCased(address: string): string {
  return address.replace(/[A-Z]/g, (letter) => letter.toLowerCase())
}
