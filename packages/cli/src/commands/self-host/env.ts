import { command } from '../../arguments/command.ts'
import type { Context } from '../../context.ts'
import { UsageError } from '../../errors.ts'
import { dim, green } from '../../terminal/output.ts'
import { readStdin } from '../../terminal/read-stdin.ts'
import { masked, parseAssignments, readSettings, settings, writeSettings } from '../../self-host/settings.ts'
import { runningServer } from '../../self-host/state.ts'

export const env = command({
  summary: 'List the settings of your server, or change them for its next start',
  about: [
    'svc self-host env ls shows them with secrets masked. svc self-host env set KEY=VALUE … sets: KEY= removes one, KEY=- reads the value from stdin, which keeps it out of the history of your shell.',
    'They are stored next to the client configuration, readable only by you. Variables in the shell of svc self-host start take precedence.',
  ],
  scope: 'nothing',
  args: {
    action: { summary: 'ls or set' },
    settings: { summary: 'KEY=VALUE, for set', many: true, optional: true },
  },
  examples: [
    'svc self-host env ls',
    'svc self-host env set SVC_LLM_UPSTREAM_URL=https://models.example.com/v1 SVC_LLM_MODEL=large',
    'svc self-host env set SVC_LLM_UPSTREAM_KEY=-',
  ],
  async run(ctx, { args }) {
    if ((args.action === 'ls' || args.action === 'list') && args.settings.length === 0) return list(ctx)
    if (args.action === 'set' && args.settings.length > 0) return set(ctx, args.settings)
    throw new UsageError(
      args.action === 'set'
        ? 'Missing <KEY=VALUE>'
        : `Unexpected ${JSON.stringify(args.action === 'ls' ? args.settings[0] : args.action)}`,
      { next: ['svc self-host env ls', 'svc self-host env set KEY=VALUE'] },
    )
  },
})

async function list(ctx: Context): Promise<void> {
  const found = (await readSettings(ctx)) ?? {}
  const names = [...new Set([...Object.keys(found), ...Object.keys(settings)])]
  const rows = names.map((name) => ({
    name,
    value: found[name] === undefined ? null : masked(name, found[name]),
    summary: settings[name]?.summary ?? '',
  }))
  const { out } = ctx
  if (out.json) return out.document(rows)
  out.table(rows, [
    { title: 'NAME', of: (row) => row.name },
    { title: 'VALUE', of: (row) => row.value ?? dim('-'), shrink: true },
    { title: 'DESCRIPTION', of: (row) => row.summary, shrink: true },
  ])
}

async function set(ctx: Context, words: readonly string[]): Promise<void> {
  const changes = parseAssignments(words)
  for (const [name, value] of Object.entries(changes))
    if (value === '-') Object.assign(changes, parseAssignments([`${name}=${(await readStdin(ctx.io, name)).trim()}`]))
  const path = await writeSettings(ctx, changes)
  const { out } = ctx
  const shown = Object.fromEntries(
    Object.entries(changes).map(([name, value]) => [name, value === null ? null : masked(name, value)]),
  )
  if (out.json) return out.document({ path, set: shown })
  for (const [name, value] of Object.entries(shown))
    out.line(green('✓ '), value === null ? `${name} removed` : `${name}=${value}`)
  const running = (await runningServer(ctx)) !== null
  out.note(running ? 'Applies at the next start: svc self-host stop, then start.' : 'Applies at the next start.')
}
