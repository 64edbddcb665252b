import { z } from 'zod'
import { user } from './accounts.ts'
import { line, named, ok, page, route, timestamp, uuid } from '../route.ts'

export const token = named('Token', {
  token_id: uuid,
  name: z.string(),
  project_id: uuid.nullable(),
  session_id: uuid.nullable(),
  expires_at: timestamp.nullable(),
  created_at: timestamp,
  last_used_at: timestamp.nullable(),
})
export type Token = z.infer<typeof token>

export const projectToken = named('ProjectToken', {
  ...token.shape,
  created_by: uuid.describe('The user whose access the token has.'),
  created_by_name: z.string(),
  is_member: z
    .boolean()
    .describe(
      "Whether that user is a member of the project's account. Otherwise every request with the token is refused.",
    ),
})

export type ProjectToken = z.infer<typeof projectToken>

/** The only answer that ever holds `secret_key`. */
export const mintedToken = token
  .omit({ last_used_at: true })
  .extend({ secret_key: z.string() })
  .meta({ id: 'MintedToken' })
export type MintedToken = z.infer<typeof mintedToken>

const name = line(100)
const expires = z.iso.datetime({ offset: true }).nullable().optional()

export const whoAmIRoute = route.get('token', '/v1/token', {
  name: 'whoAmI',
  summary: 'Get the owner of this token',
  description: 'Works with every user and project token, also inside a sandbox.',
  errors: ['not_found'],
  reply: z.object({
    kind: z.enum(['user', 'project']),
    token_id: uuid.nullable().describe("Null for a request with the dashboard's cookie."),
    user,
    account: z.object({ account_id: uuid, name: z.string() }),
    project_id: uuid.nullable(),
    session_id: uuid.nullable(),
    expires_at: timestamp.nullable(),
  }),
})

export const mintUserTokenRoute = route.post('account', '/v1/accounts/tokens', {
  name: 'mintUserToken',
  summary: 'Create a user token',
  description:
    '`secret_key` is in this answer only; the server stores its SHA-256. `expires_at` null means that the token does not expire.',
  errors: ['conflict'],
  body: z.object({ name, expires_at: expires }),
  status: 201,
  idempotent: false,
  example: { body: { name: 'ci', expires_at: '2099-12-31T00:00:00Z' } },
  reply: mintedToken,
})

export const listUserTokensRoute = route.get('account', '/v1/accounts/tokens', {
  name: 'listUserTokens',
  summary: 'List the user tokens of the caller',
  description: 'Never their values.',
  query: page,
  reply: z.array(token),
})

export const revokeUserTokenRoute = route.delete('account', '/v1/accounts/tokens/:tokenId', {
  name: 'revokeUserToken',
  summary: 'Revoke a user token',
  description: 'The next request with it fails.',
  reply: ok,
})

export const mintProjectTokenRoute = route.post('project-write', '/v1/projects/:projectId/cli-token', {
  name: 'mintProjectToken',
  summary: 'Create a project token',
  description:
    "Called with a token that is bound to a session, the answer is a token bound to the same session, which never outlives the caller's.",
  errors: ['limit_reached'],
  effect: 'adds',
  body: z.object({ name: name.optional(), expires_at: expires }).optional(),
  status: 201,
  example: { body: { name: 'ci' } },
  reply: mintedToken,
})

export const listProjectTokensRoute = route.get('project-write', '/v1/projects/:projectId/cli-token', {
  name: 'listProjectTokens',
  summary: 'List the tokens of a project',
  description: 'Never their values.',
  query: page,
  reply: z.array(projectToken),
})

export const revokeProjectTokenRoute = route.delete('project-write', '/v1/projects/:projectId/cli-token/:tokenId', {
  name: 'revokeProjectToken',
  summary: 'Revoke a project token',
  description: 'The next request with it fails.',
  reply: ok,
})

/** base64url of the SHA-256 of the verifier, which only the waiting client knows. */
const challenge = z.string().regex(/^[A-Za-z0-9_-]{43}$/, 'is not the SHA-256 of a verifier in base64url')

export const approveCliLoginRoute = route.post('account', '/v1/accounts/cli-logins', {
  name: 'approveCliLogin',
  summary: 'Approve the sign-in of a command-line client',
  description: 'For the dashboard: the person clicks, and the client redeems the code within one minute.',
  errors: ['confirmation_needed'],
  body: z.object({ challenge, name }),
  status: 201,
  example: { body: { challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM', name: 'laptop' } },
  reply: z.object({ code: z.string(), expires_at: timestamp }),
})

export const redeemCliLoginRoute = route.post('public', '/v1/cli-logins/redeem', {
  name: 'redeemCliLogin',
  summary: 'Exchange the code of an approved sign-in',
  description:
    'Works once and needs the verifier of the client that started the sign-in. The token in the answer lasts one minute and creates the user token.',
  errors: ['unauthenticated', 'not_found', 'limit_reached'],
  body: z.object({ code: z.string().min(1).max(200), verifier: z.string().min(32).max(200) }),
  reply: mintedToken,
})
