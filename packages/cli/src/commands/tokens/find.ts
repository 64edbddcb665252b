import type { Token } from '@svc/sdk'
import type { Flag } from '../../arguments/command.ts'
import { allPages } from '../../pages.ts'
import { findOne, uuid } from '../../arguments/find-one.ts'
import { resolveProjectId } from '../projects/find.ts'
import type { Client } from '../../requests.ts'

export const projectFlag = {
  kind: 'text',
  summary: 'Use project tokens, which have access to this project only',
  value: 'id|slug',
  names: 'project',
} as const satisfies Flag

/** The id of the named project, or null for the caller's own tokens. */
export async function projectOf(api: Client, named: string | undefined): Promise<string | null> {
  return named === undefined ? null : resolveProjectId(api, named)
}

export function allTokens(api: Client, projectId: string | null): Promise<Token[]> {
  return allPages((query) =>
    projectId === null
      ? api.page('/v1/accounts/tokens', { query })
      : api.project(projectId).page('/cli-token', { query }),
  )
}

export async function findToken(api: Client, projectId: string | null, named: string): Promise<Token> {
  return findOne(await allTokens(api, projectId), named, {
    what: ['token', 'tokens'],
    id: (token) => token.token_id,
    isNamed: (token) => token.name === named,
    hint: uuid.test(named) ? 'It may be revoked already.' : undefined,
    next: ['svc tokens ls'],
  })
}
