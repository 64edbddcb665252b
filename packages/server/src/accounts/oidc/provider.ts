/** Client of the OpenID Connect provider: starts a sign-in and verifies its result. */
import * as client from 'openid-client'
import type { Config } from '../../config.ts'
import { guardedFetch } from '../../egress/guarded-fetch.ts'

/** State of a sign-in, in a cookie of its browser, so that no other browser can finish it. */
export interface Journey {
  state: string
  nonce: string
  verifier: string
  /** The page to open afterwards. */
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
  readonly #config: NonNullable<Config['oidc']>
  readonly #redirectUri: () => string
  /** Only a successful discovery is cached. */
  #found: Promise<client.Configuration> | null = null

  constructor(config: NonNullable<Config['oidc']>, redirectUri: () => string) {
    this.#config = config
    this.#redirectUri = redirectUri
  }

  /** Throws the discovery error when the provider is unavailable or invalid. */
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

  /** `search` is the query of the provider's redirect. Throws when any part of it does not match the journey. */
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
    // Many providers put the address into the ID token, others only into the userinfo response.
    const source =
      claims.email === undefined && found.serverMetadata().userinfo_endpoint !== undefined
        ? await client.fetchUserInfo(found, tokens.access_token, claims.sub)
        : claims
    return {
      issuer: claims.iss,
      subject: claims.sub,
      email: typeof source.email === 'string' ? lowerCased(source.email.trim()) : null,
      email_verified: source.email_verified === true,
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
    // Only loopback may use http (config/oidc.ts). The signature of an ID token is verified even over TLS, so that no proxy needs to be trusted.
    const insecure = url.protocol === 'http:' ? [client.allowInsecureRequests] : []
    const execute = [client.enableNonRepudiationChecks, ...insecure]
    const options = { execute, timeout: timeoutSeconds, [client.customFetch]: boundedFetch }
    const found = await client.discovery(url, clientId, clientSecret, undefined, options)
    if (!/^https?:/.test(found.serverMetadata().authorization_endpoint ?? ''))
      throw new Error('The provider has no authorization endpoint that a browser can open.')
    const methods = found.serverMetadata().token_endpoint_auth_methods_supported ?? ['client_secret_basic']
    if (methods.includes('client_secret_post')) return found
    return client.discovery(url, clientId, clientSecret, client.ClientSecretBasic(clientSecret), options)
  }
}

/** The provider's discovery names the URLs that get the client secret, so they are checked. The provider may be in a private network. */
const boundedFetch: client.CustomFetch = (url, { body, headers, method, signal }) =>
  guardedFetch({ allowPrivate: true, bytesMax: answerBytesMax, idleMs: timeoutSeconds * 1000 })(url, {
    ...{ headers, method },
    ...(body == null ? {} : { body: body as BodyInit }),
    ...(signal === undefined ? {} : { signal }),
  })

/** ASCII only: Unicode lowercases the Kelvin sign to k, which would make another mailbox equal to this one. */
function lowerCased(address: string): string {
  return address.replace(/[A-Z]/g, (letter) => letter.toLowerCase())
}
