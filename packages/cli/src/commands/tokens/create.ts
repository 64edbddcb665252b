import { command } from '../../arguments/command.ts'
import { UsageError } from '../../errors.ts'
import { bold, green } from '../../terminal/output.ts'
import { projectFlag, projectOf } from './find.ts'

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
