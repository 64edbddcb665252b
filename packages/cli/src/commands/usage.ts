import type { ProjectUsage, Usage } from '@svc/sdk'
import { sizeText } from '@svc/contract/schemas/quotas'
import { command } from '../arguments/command.ts'
import type { Context } from '../context.ts'
import { UsageError } from '../errors.ts'
import { bold, green } from '../terminal/output.ts'
import { accountFlag, resolveAccountId } from './members/account.ts'
import { resolveProjectId } from './projects/find.ts'
import { resolveSessionId } from './sessions/find.ts'

const daysMax = 366

export const usage = command({
  summary: 'Show the usage of models and sandboxes in tokens and time',
  about: [
    "Shows the account, or one project or session with --project or --session; in a sandbox, its session. A project also shows its storage. --cap limits the account's tokens per month (for owners and admins); the caps of a project and its sessions are settings: svc settings ls.",
  ],
  scope: 'host',
  flags: {
    project: { kind: 'text', summary: 'Only this project', value: 'id|slug', names: 'project' },
    session: { kind: 'text', summary: 'Only this session, with --project', value: 'id', names: 'session' },
    days: { kind: 'number', summary: 'Number of days (default: 30)', value: 'n', min: 1, max: daysMax, usual: 30 },
    cap: { kind: 'text', summary: 'Set the cap of the account; none removes it', value: 'tokens|none' },
    account: accountFlag,
  },
  examples: ['svc usage', 'svc usage --project my-app --days 7 --json', 'svc usage --cap 20000000'],
  async run(ctx, { flags }) {
    const { days } = flags
    if (flags.cap !== undefined) {
      const model_tokens_per_month = flags.cap === 'none' ? null : wholeNumber('--cap', flags.cap, 0, 1_000_000_000_000)
      const accountId = await resolveAccountId(ctx, flags.account)
      const path = { accountId }
      const set = await ctx.api.patch('/v1/accounts/{accountId}/usage', { path, body: { model_tokens_per_month } })
      if (ctx.out.json) return ctx.out.document(set)
      const now =
        model_tokens_per_month === null ? 'without a cap' : `capped at ${count(model_tokens_per_month)} tokens a month`
      return ctx.out.line(green('✓ '), 'The account is ', bold(now))
    }
    const found = await read(ctx, flags, days)
    if (ctx.out.json) return ctx.out.document(found)
    show(ctx, found)
    if ('storage' in found) showStorage(ctx, found.storage)
  },
})

async function read(
  ctx: Context,
  flags: { project?: string | undefined; session?: string | undefined; account?: string | undefined },
  days: number,
): Promise<Usage | ProjectUsage> {
  const { env } = ctx.io
  const query = { days }
  const isInSandbox = Boolean(env.SVC_SESSION_ID && (env.SVC_CLI_TOKEN || env.SVC_EXECUTOR_TOKEN))
  const named = flags.project ?? (isInSandbox || flags.session !== undefined ? env.SVC_PROJECT_ID : undefined)
  if (flags.session !== undefined && named === undefined)
    throw new UsageError('--session requires --project', { next: ['svc usage --project <id> --session <id>'] })
  if (named === undefined) {
    const accountId = await resolveAccountId(ctx, flags.account)
    return ctx.api.get('/v1/accounts/{accountId}/usage', { path: { accountId }, query })
  }
  const project = ctx.api.project(await resolveProjectId(ctx.api, named))
  const sessionId = flags.session ?? (isInSandbox && flags.project === undefined ? env.SVC_SESSION_ID : undefined)
  if (sessionId === undefined) return project.get('/usage', { query })
  const path = { sessionId: await resolveSessionId(project, sessionId) }
  return project.get('/sessions/{sessionId}/usage', { path, query })
}

function show({ out }: Context, { from, to, models, totals, caps }: Usage): void {
  if (models.length > 0)
    out.table(models, [
      { title: 'DAY', of: (row) => row.day },
      { title: 'MODEL', of: (row) => row.model, shrink: true },
      { title: 'CALLS', of: (row) => count(row.calls) },
      { title: 'TOKENS IN', of: (row) => count(row.tokens_in) },
      { title: 'TOKENS OUT', of: (row) => count(row.tokens_out) },
    ])
  out.note(
    `${from} to ${to}: ${count(totals.calls)} calls, ${count(totals.tokens_in)} tokens in, ${count(totals.tokens_out)} out; sandboxes ran ${duration(totals.sandbox_seconds)}.`,
  )
  for (const cap of caps)
    out.note(`Cap of the ${cap.scope}: ${count(cap.tokens_taken)} of ${count(cap.tokens)} tokens used.`)
}

function showStorage({ out }: Context, storage: ProjectUsage['storage']): void {
  const { repository_bytes: used, limit_bytes: limit, unfinished_work_bytes, transcript_bytes } = storage
  const { check_log_bytes: logs, sessions_limit_bytes: sessionsLimit } = storage
  out.note(
    `Storage: the repository uses ${sizeText(used)} of ${sizeText(limit)}, unfinished work ${sizeText(unfinished_work_bytes)}, transcripts ${sizeText(transcript_bytes)}.`,
  )
  // An older server has no total.
  if (sessionsLimit !== undefined) {
    const ofSessions = unfinished_work_bytes + transcript_bytes + logs
    out.note(`Sessions use ${sizeText(ofSessions)} of ${sizeText(sessionsLimit)}, including check logs.`)
    if (ofSessions >= sessionsLimit) out.note("New sessions can't start. Delete finished sessions or raise the quota.")
  }
  if (used >= limit) out.note('The repository is full: pushes are refused. Reading and merging still work.')
}

function count(value: number): string {
  return String(value).replace(/\B(?=(\d{3})+$)/g, ',')
}

function duration(seconds: number): string {
  const hours = Math.floor(seconds / 3600)
  const minutes = Math.floor((seconds % 3600) / 60)
  return hours > 0 ? `${hours} h ${minutes} min` : minutes > 0 ? `${minutes} min` : `${seconds} s`
}

function wholeNumber(name: string, text: string, min: number, max: number): number {
  const value = Number(text)
  if (/^\d+$/.test(text) && value >= min && value <= max) return value
  throw new UsageError(`${name} must be a whole number from ${min} to ${max}, not ${JSON.stringify(text)}`)
}
