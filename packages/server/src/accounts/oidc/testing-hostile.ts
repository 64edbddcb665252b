/** A scripted OpenID Connect provider on loopback with the defects a test sets. */
import { createHmac, createSign, generateKeyPairSync, type KeyObject } from 'node:crypto'

export interface HostileProvider {
  issuer: string
  clientId: string
  clientSecret: string
  /** The requested paths, in order. */
  asked: string[]
  lies: Lies
  close(): void
}

export interface Lies {
  /** Overrides honest claims; undefined removes one. */
  claims?: Record<string, unknown>
  header?: Record<string, unknown>
  signature?: 'honest' | 'none' | 'another key' | 'secret' | 'public key' | 'broken'
  discovery?: Record<string, unknown>
  /** Overrides fields of the token response; undefined removes one. */
  tokens?: Record<string, unknown>
  userinfo?: unknown
  /** Replaces the response of a path. */
  answer?: Record<string, (request: Request) => Response>
}

const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')

export function startHostileProvider(input: { nonce: () => string; email: () => string }): HostileProvider {
  const keys = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const strangers = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const asked: string[] = []
  const clientSecret = 'a secret of at least thirty-two bytes, for HMAC'
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    idleTimeout: 0,
    fetch(request) {
      const { pathname } = new URL(request.url)
      asked.push(pathname)
      const replaced = provider.lies.answer?.[pathname]
      if (replaced !== undefined) return replaced(request)
      const answer = answers[pathname]
      return answer === undefined ? new Response(null, { status: 404 }) : Response.json(answer())
    },
  })
  const issuer = `http://127.0.0.1:${server.port}`
  const answers: Record<string, () => unknown> = {
    '/.well-known/openid-configuration': () => ({
      issuer,
      authorization_endpoint: `${issuer}/authorize`,
      token_endpoint: `${issuer}/token`,
      userinfo_endpoint: `${issuer}/userinfo`,
      jwks_uri: `${issuer}/jwks`,
      response_types_supported: ['code'],
      subject_types_supported: ['public'],
      id_token_signing_alg_values_supported: ['RS256'],
      token_endpoint_auth_methods_supported: ['client_secret_post'],
      ...provider.lies.discovery,
    }),
    '/jwks': () => ({ keys: [{ ...keys.publicKey.export({ format: 'jwk' }), kid: 'one', alg: 'RS256', use: 'sig' }] }),
    '/token': () => ({
      access_token: 'an access token',
      token_type: 'Bearer',
      expires_in: 60,
      id_token: idToken(),
      ...provider.lies.tokens,
    }),
    '/userinfo': () => provider.lies.userinfo ?? { sub: 'honest' },
  }
  function idToken(): string {
    const now = Math.floor(Date.now() / 1000)
    const claims = {
      iss: issuer,
      sub: crypto.randomUUID(),
      aud: 'svc',
      iat: now,
      exp: now + 300,
      nonce: input.nonce(),
      email: input.email(),
      email_verified: true,
      ...provider.lies.claims,
    }
    const { signature = 'honest', header } = provider.lies
    const signed = `${encode({ alg: algOf(signature), kid: 'one', typ: 'JWT', ...header })}.${encode(claims)}`
    return `${signed}.${sign(signed, signature)}`
  }
  function sign(text: string, how: NonNullable<Lies['signature']>): string {
    const rsa = (key: KeyObject) => createSign('RSA-SHA256').update(text).sign(key, 'base64url')
    const hmac = (key: string) => createHmac('sha256', key).update(text).digest('base64url')
    switch (how) {
      case 'none':
        return ''
      case 'another key':
        return rsa(strangers.privateKey)
      case 'secret':
        return hmac(clientSecret)
      case 'public key':
        return hmac(keys.publicKey.export({ type: 'spki', format: 'pem' }) as string)
      case 'broken':
        return 'AAAA'
      default:
        return rsa(keys.privateKey)
    }
  }
  const provider: HostileProvider = {
    ...{ issuer, clientId: 'svc', clientSecret, asked, lies: {} },
    close: () => void server.stop(true),
  }
  return provider
}

function algOf(signature: NonNullable<Lies['signature']>): string {
  if (signature === 'none') return 'none'
  return signature === 'secret' || signature === 'public key' ? 'HS256' : 'RS256'
}
