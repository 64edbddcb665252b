/** A real OpenID Connect provider on loopback that signs in the person a test names. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
// Must precede the provider, which warns while loading.
import './testing-quiet.ts'
import { Provider } from 'oidc-provider'

export interface TestPerson {
  subject: string
  email?: string
  email_verified?: boolean
}

export type TestProvider = Awaited<ReturnType<typeof startTestProvider>>

export async function startTestProvider(input: {
  /** Read at the first request: a server on a random port learns its URL after the start. */
  redirectUri: () => string
  clientAuth?: 'client_secret_post' | 'client_secret_basic'
  /** Where the provider puts the address. Both occur in practice. */
  claimsIn?: 'id_token' | 'userinfo'
}) {
  const { redirectUri, clientAuth = 'client_secret_post', claimsIn = 'userinfo' } = input
  const server = createServer()
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const [clientId, clientSecret] = ['svc', 'a secret of the provider']
  const people = new Map<string, TestPerson>()
  const make = () =>
    new Provider(issuer, {
      clients: [
        {
          client_id: clientId,
          client_secret: clientSecret,
          redirect_uris: [redirectUri()],
          token_endpoint_auth_method: clientAuth,
        },
      ],
      clientAuthMethods: [clientAuth],
      claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name'] },
      conformIdTokenClaims: claimsIn === 'userinfo',
      pkce: { required: () => true },
      features: { devInteractions: { enabled: false } },
      cookies: { keys: ['of the test'] },
      interactions: { url: (_, interaction) => `/interaction/${interaction.uid}` },
      findAccount: (_, subject) => ({
        accountId: subject,
        claims: () => {
          const { email, email_verified } = people.get(subject) ?? {}
          return { sub: subject, ...(email === undefined ? {} : { email, email_verified }) }
        },
      }),
      async loadExistingGrant(ctx) {
        const grant = new ctx.oidc.provider.Grant({
          clientId: ctx.oidc.client!.clientId,
          accountId: ctx.oidc.session!.accountId!,
        })
        grant.addOIDCScope('openid email profile')
        await grant.save()
        return grant
      },
    })
  const test = {
    issuer,
    clientId,
    clientSecret,
    /** The person who signs in; null declines. */
    person: null as TestPerson | null,
    close: () =>
      new Promise<void>((done) => {
        server.close(() => done())
        server.closeAllConnections()
      }),
  }
  let made: Provider | null = null
  server.on('request', (request, response) => {
    const provider = (made ??= make())
    if (!request.url?.startsWith('/interaction/')) return void provider.callback()(request, response)
    const { person } = test
    if (person !== null) people.set(person.subject, person)
    const result = person === null ? { error: 'access_denied' } : { login: { accountId: person.subject } }
    provider.interactionFinished(request, response, result).catch((error: unknown) => {
      response.writeHead(500).end(String(error))
    })
  })
  return test
}
