/** User tokens, or those of one project. */
import type { ApiClient } from '@svc/contract/api'
import { reply, replyPage } from '../../api.ts'
import type { Flag } from '../../command.ts'
import { Refusal } from '../../errors.ts'
import type { Token } from '../../wire.ts'
import { resolveProjectId, uuid } from '../projects/find.ts'

export const projectFlag = {
  kind: 'text',
  summary: 'Of this project instead: a token that reaches nothing else',
  value: 'id|slug',
  names: 'project',
} as const satisfies Flag

const pageSize = 1000
const pagesMax = 20
const prefixMin = 4

/** The id of the project that is named, or null for the caller's own tokens. */
export async function projectOf(api: ApiClient, named: string | undefined): Promise<string | null> {
  return named === undefined ? null : resolveProjectId(api, named)
}

export async function allTokens(api: ApiClient, projectId: string | null): Promise<Token[]> {
  const found: Token[] = []
  let cursor: string | null = null
  for (let i = 0; i < pagesMax; i++) {
    const query: { limit: number; cursor?: string } = { limit: pageSize, ...(cursor === null ? {} : { cursor }) }
    const next: { data: Token[]; cursor: string | null } = await replyPage(
      projectId === null
        ? api.GET('/v1/accounts/tokens', { params: { query } })
        : api.GET('/v1/projects/{projectId}/cli-token', { params: { path: { projectId }, query } }),
    )
    found.push(...next.data)
    cursor = next.cursor
    if (cursor === null) break
  }
  return found
}

/** By id, the first characters of it, or a name that only one has. */
export async function findToken(api: ApiClient, projectId: string | null, named: string): Promise<Token> {
  const all = await allTokens(api, projectId)
  const wanted = named.toLowerCase()
  const byId = wanted.length >= prefixMin ? all.filter((token) => token.token_id.startsWith(wanted)) : []
  const found = byId.length > 0 ? byId : all.filter((token) => token.name === named)
  const next = ['svc tokens ls']
  if (found.length === 1) return found[0]!
  if (found.length > 1)
    throw new Refusal('ambiguous', `${found.length} tokens could be meant by ${JSON.stringify(named)}`, {
      hint: 'Give more of the id.',
      next,
    })
  throw new Refusal('not_found', `There is no token ${JSON.stringify(named)}`, {
    ...(uuid.test(named) ? { hint: 'It may have been revoked already.' } : {}),
    next,
  })
}

export function whoAmI(api: ApiClient) {
  return reply(api.GET('/v1/token'))
}
