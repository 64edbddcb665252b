import type { ProjectToken, Token } from '@svc/sdk'
import { command, type Flag } from '../../arguments/command.ts'
import { findOne, uuid } from '../../arguments/find-one.ts'
import { quote } from '../../arguments/shell-word.ts'
import { UsageError } from '../../errors.ts'
import { allPages } from '../../pages.ts'
import type { Client } from '../../requests.ts'
import { confirm } from '../../terminal/ask.ts'
import { bold, dim, green } from '../../terminal/output.ts'
import { resolveProjectId } from '../projects/find.ts'

const projectFlag = {
  kind: 'text',
  summary: 'Use project tokens, which have access to this project only',
  value: 'id|slug',
  names: 'project',
} as const satisfies Flag

/** The id of the named project, or null for the caller's own tokens. */
async function projectOf(api: Client, named: string | undefined): Promise<string | null> {
  return named === undefined ? null : resolveProjectId(api, named)
}

/** A list of project tokens adds fields. A server of an earlier version leaves them out. */
type AnyToken = Token & Partial<ProjectToken>

export function allTokens(api: Client, projectId: string | null): Promise<AnyToken[]> {
  return allPages((query) =>
    projectId === null
      ? api.page('/v1/accounts/tokens', { query })
      : api.project(projectId).page('/cli-token', { query }),
  )
}

async function findToken(api: Client, projectId: string | null, named: string): Promise<Token> {
  return findOne(await allTokens(api, projectId), named, {
    what: ['token', 'tokens'],
    id: (token) => token.token_id,
    isNamed: (token) => token.name === named,
    hint: uuid.test(named) ? 'It may be revoked already.' : undefined,
    next: ['svc tokens ls'],
  })
}

export const ls = command({
  summary: 'List your tokens or those of a project, without their values',
  scope: 'host',
  flags: { project: projectFlag },
  examples: ['svc tokens ls', 'svc tokens ls --project my-app --json'],
  async run({ out, api }, { flags }) {
    const tokens = await allTokens(api, await projectOf(api, flags.project))
    if (out.json) return out.document(tokens)
    if (tokens.length === 0) return out.note('No tokens yet. Create one: svc tokens create --name <text>')
    const { token_id: inUse } = await api.get('/v1/token')
    out.table(tokens, [
      { title: '', of: (token) => (token.token_id === inUse ? green('*') : '') },
      { title: 'ID', of: (token) => (out.terminal ? token.token_id.slice(0, 8) : token.token_id) },
      { title: 'NAME', of: (token) => token.name, shrink: true },
      ...(flags.project === undefined
        ? []
        : [{ title: 'SESSION', of: ({ session_id: id }: AnyToken) => id?.slice(0, 8) ?? '' }]),
      { title: 'CREATED', of: (token) => out.time(token.created_at) },
      { title: 'USED', of: (token) => (token.last_used_at === null ? dim('never') : out.time(token.last_used_at)) },
      { title: 'EXPIRES', of: (token) => token.expires_at ?? dim('never') },
      // The last, since scripts read columns by their number.
      ...(flags.project === undefined ? [] : [{ title: 'OF', of: userOf }]),
    ])
  },
})

/** Tokens of a former member are refused. */
function userOf({ created_by_name: name = '', is_member: isMember = true }: AnyToken): string {
  return isMember ? name : `${name} (no member)`
}

const units: Record<string, number> = { m: 60_000, h: 3_600_000, d: 86_400_000, w: 7 * 86_400_000 }

export const create = command({
  summary: 'Create a token, which is shown only once',
  about: [
    'A user token has your access. With --project it has access to that project only, which suits scripts and CI. Prints only the token to stdout.',
  ],
  scope: 'host',
  flags: {
    name: { kind: 'text', summary: 'Name of the token', value: 'text', required: true },
    expires: { kind: 'text', summary: 'Expiry: 12h, 30d, 4w or a date (default: never)', value: 'when' },
    project: projectFlag,
  },
  examples: [
    'svc tokens create --name laptop --expires 90d',
    'svc tokens create --name ci --project my-app > ci-token',
  ],
  async run({ io, out, api }, { flags }) {
    const expires_at = flags.expires === undefined ? undefined : endOf(flags.expires, io.now())
    const projectId = await projectOf(api, flags.project)
    const body = { name: flags.name, expires_at }
    const made =
      projectId === null
        ? await api.post('/v1/accounts/tokens', { body })
        : await api.project(projectId).post('/cli-token', { body })
    if (out.json) return out.document(made)
    out.progress(green('✓ '), 'Created ', bold(made.name), made.expires_at === null ? '' : `, until ${made.expires_at}`)
    out.line(made.secret_key)
    out.note(`It is shown only once. Revoke it with svc tokens revoke ${made.token_id.slice(0, 8)}.`)
  },
})

function endOf(text: string, now: number): string {
  const [, count, unit] = /^(\d{1,5})([mhdw])$/.exec(text) ?? []
  const end = count === undefined ? Date.parse(text) : now + Number(count) * units[unit!]!
  if (Number.isNaN(end)) throw wrong(`--expires must be a span (12h, 30d, 4w) or a date, not ${JSON.stringify(text)}`)
  if (end <= now) throw wrong(`--expires is in the past: ${text}`)
  return new Date(end).toISOString()
}

function wrong(message: string): UsageError {
  return new UsageError(message, { next: ['svc tokens create --name <text> --expires 30d'] })
}

export const revoke = command({
  summary: 'Revoke a token; the next request with it fails',
  about: ['Also revokes tokens that were created with it. Asks before revoking the token in use.'],
  scope: 'host',
  args: { token: { summary: 'Id of the token, its first characters, or its name', names: 'token' } },
  flags: { project: projectFlag, yes: { kind: 'switch', summary: 'Do not ask' } },
  examples: ['svc tokens revoke 8f3a1c20', 'svc tokens revoke ci --project my-app --json'],
  async run(ctx, { args, flags }) {
    const projectId = await projectOf(ctx.api, flags.project)
    const { token_id: tokenId, name } = await findToken(ctx.api, projectId, args.token)
    if ((await ctx.api.get('/v1/token')).token_id === tokenId)
      await confirm(ctx, {
        question: `${name} is the token in use: revoking it signs out this client. Revoke it?`,
        yes: flags.yes,
        corrected: `svc tokens revoke ${quote(args.token)} --yes`,
      })
    if (projectId === null) await ctx.api.delete('/v1/accounts/tokens/{tokenId}', { path: { tokenId } })
    else await ctx.api.project(projectId).delete('/cli-token/{tokenId}', { path: { tokenId } })
    ctx.out.done(
      { token_id: tokenId, revoked: true },
      'Revoked ',
      bold(name),
      ' and every token that was created with it',
    )
  },
})
