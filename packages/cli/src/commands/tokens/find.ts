import type { ApiClient } from '@svc/contract/api'
import { reply, replyPage } from '../../api.ts'
import type { Flag } from '../../arguments/command.ts'
import { allPages } from '../../pages.ts'
import type { Token } from '../../api-types.ts'
import { findOne, uuid } from '../../arguments/find-one.ts'
import { resolveProjectId } from '../projects/find.ts'

export const projectFlag = {
  kind: 'text',
  summary: 'Use project tokens, which have access to this project only',
  value: 'id|slug',
  names: 'project',
} as const satisfies Flag

/** The id of the named project, or null for the caller's own tokens. */
export async function projectOf(api: ApiClient, named: string | undefined): Promise<string | null> {
  return named === undefined ? null : resolveProjectId(api, named)
}

export function allTokens(api: ApiClient, projectId: string | null): Promise<Token[]> {
  return allPages((query) =>
    replyPage(
      projectId === null
        ? api.GET('/v1/accounts/tokens', { params: { query } })
        : api.GET('/v1/projects/{projectId}/cli-token', { params: { path: { projectId }, query } }),
    ),
  )
}

export async function findToken(api: ApiClient, projectId: string | null, named: string): Promise<Token> {
  return findOne(await allTokens(api, projectId), named, {
    what: ['token', 'tokens'],
    id: (token) => token.token_id,
    isNamed: (token) => token.name === named,
    hint: uuid.test(named) ? 'It may be revoked already.' : undefined,
    next: ['svc tokens ls'],
  })
}

export function whoAmI(api: ApiClient) {
  return reply(api.GET('/v1/token'))
}
