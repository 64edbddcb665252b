import { z } from 'zod'
import { user } from './accounts.ts'
import { line, ok, page, route, timestamp, uuid } from './route.ts'

export const token = z.object({
  token_id: uuid,
  name: z.string(),
  project_id: uuid.nullable(),
  session_id: uuid.nullable(),
  expires_at: timestamp.nullable(),
  created_at: timestamp,
  last_used_at: timestamp.nullable(),
})
export type Token = z.infer<typeof token>

/** The only answer that ever holds `secret_key`. */
export const mintedToken = token.omit({ last_used_at: true }).extend({ secret_key: z.string() })
export type MintedToken = z.infer<typeof mintedToken>

const name = line(100)
const expires = z.iso.datetime({ offset: true }).nullable().optional()

export const whoAmIRoute = route({
  name: 'whoAmI',
  summary: 'Who this token is',
  method: 'GET',
  path: '/v1/token',
  access: 'token',
  reply: z.object({
    kind: z.enum(['user', 'project']),
    /** Null when the dashboard's cookie speaks. */
    token_id: uuid.nullable(),
    user,
    account: z.object({ account_id: uuid, name: z.string() }),
    project_id: uuid.nullable(),
    session_id: uuid.nullable(),
    expires_at: timestamp.nullable(),
  }),
})

export const mintUserTokenRoute = route({
  name: 'mintUserToken',
  summary: 'Mint a user token',
  method: 'POST',
  path: '/v1/accounts/tokens',
  access: 'account',
  body: z.object({ name, expires_at: expires }),
  status: 201,
  idempotent: false,
  reply: mintedToken,
})

export const listUserTokensRoute = route({
  name: 'listUserTokens',
  summary: 'The user tokens of the caller, never their values',
  method: 'GET',
  path: '/v1/accounts/tokens',
  access: 'account',
  query: page,
  reply: z.array(token),
})

export const revokeUserTokenRoute = route({
  name: 'revokeUserToken',
  summary: 'Revoke a user token; the next request with it fails',
  method: 'DELETE',
  path: '/v1/accounts/tokens/:tokenId',
  access: 'account',
  reply: ok,
})

export const mintProjectTokenRoute = route({
  name: 'mintProjectToken',
  summary: 'Mint a project token; a token bound to a session gets one bound to the same session',
  method: 'POST',
  path: '/v1/projects/:projectId/cli-token',
  access: 'project-write',
  effect: 'adds',
  body: z.object({ name: name.optional(), expires_at: expires }).optional(),
  status: 201,
  reply: mintedToken,
})

export const listProjectTokensRoute = route({
  name: 'listProjectTokens',
  summary: 'The tokens of a project, never their values',
  method: 'GET',
  path: '/v1/projects/:projectId/cli-token',
  access: 'project-write',
  query: page,
  reply: z.array(token),
})

export const revokeProjectTokenRoute = route({
  name: 'revokeProjectToken',
  summary: 'Revoke a project token; the next request with it fails',
  method: 'DELETE',
  path: '/v1/projects/:projectId/cli-token/:tokenId',
  access: 'project-write',
  reply: ok,
})

/** base64url of the SHA-256 of the verifier, which only the client that waits knows. */
const challenge = z.string().regex(/^[A-Za-z0-9_-]{43}$/, 'is not the SHA-256 of a verifier in base64url')

export const approveCliLoginRoute = route({
  name: 'approveCliLogin',
  summary: 'Let the client of a terminal sign in as the caller: a click on our page, never a token',
  method: 'POST',
  path: '/v1/accounts/cli-logins',
  access: 'account',
  body: z.object({ challenge, name }),
  status: 201,
  reply: z.object({ code: z.string(), expires_at: timestamp }),
})

export const redeemCliLoginRoute = route({
  name: 'redeemCliLogin',
  summary: 'Exchange the code of a click, once, for a token of one minute that mints the user token',
  method: 'POST',
  path: '/v1/cli-logins/redeem',
  access: 'public',
  body: z.object({ code: z.string().min(1).max(200), verifier: z.string().min(32).max(200) }),
  reply: mintedToken,
})
