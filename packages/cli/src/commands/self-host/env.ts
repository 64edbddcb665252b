import type { ServerInfo, SettingsProblem } from '@svc/contract/daemon/owner-socket'
import { command } from '../../arguments/command.ts'
import type { Context } from '../../context.ts'
import { UsageError } from '../../errors.ts'
import { dim, green } from '../../terminal/output.ts'
import { readStdin } from '../../terminal/read-stdin.ts'
import { corrections, examineSettings, setCommand, withSaved } from '../../self-host/invalid-settings.ts'
import {
  masked,
  parseAssignments,
  readSettings,
  settings,
  unknownSetting,
  withAbsolutePaths,
  writeSettings,
} from '../../self-host/settings.ts'
import { selfHostFile } from '../../self-host/self-host-file.ts'
import { askServer } from '../../self-host/ask-owner-link.ts'
import { isHere, keeperOf, programOf } from '../../self-host/running-program.ts'
import { runningServer } from '../../self-host/state.ts'

export const env = command({
  summary: 'List the settings of your server, or change them for its next start',
  about: [
    'svc self-host env ls shows them with secrets masked. svc self-host env set KEY=VALUE … sets: KEY=- reads the value from stdin, which keeps it out of the history of your shell. svc self-host env unset KEY … removes, as KEY= does. What the server would refuse is not saved.',
    'They are stored next to the client configuration, readable only by you. Variables in the shell of svc self-host start take precedence. A server that npm start or a container runs does not read them: it has an environment of its own.',
  ],
  scope: 'nothing',
  args: {
    action: { summary: 'ls, set or unset' },
    settings: { summary: 'KEY=VALUE for set, KEY for unset', many: true, optional: true },
  },
  examples: [
    'svc self-host env ls',
    'svc self-host env set SVC_LLM_UPSTREAM_URL=https://models.example.com/v1 SVC_LLM_MODEL=large',
    'svc self-host env set SVC_LLM_UPSTREAM_KEY=-',
    'svc self-host env unset SVC_BACKUP_DIR SVC_BACKUP_KEEP',
  ],
  async run(ctx, { args }) {
    if ((args.action === 'ls' || args.action === 'list') && args.settings.length === 0) return list(ctx)
    if (args.action === 'set' && args.settings.length > 0) return set(ctx, args.settings)
    if (args.action === 'unset' && args.settings.length > 0) return unset(ctx, args.settings)
    const missing = { set: 'Missing <KEY=VALUE>', unset: 'Missing <KEY>' }[args.action]
    throw new UsageError(
      missing ?? `Unexpected ${JSON.stringify(args.action === 'ls' ? args.settings[0] : args.action)}`,
      { next: ['svc self-host env ls', 'svc self-host env set KEY=VALUE', 'svc self-host env unset KEY'] },
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
  const [problems = []] = Object.keys(found).length === 0 ? [] : await examineSettings(ctx, [withSaved(ctx, found)])
  out.table(rows, [
    { title: 'NAME', of: (row) => row.name },
    { title: 'VALUE', of: (row) => row.value ?? dim('-'), shrink: true },
    { title: 'DESCRIPTION', of: (row) => row.summary, shrink: true },
  ])
  out.note(`Saved in ${selfHostFile(ctx, 'env')}. That file has secrets in the clear.`)
  for (const { says, names } of problems)
    if (names.some((name) => Object.hasOwn(found, name))) out.warn(`The server would not start: ${says}`)
}

async function set(ctx: Context, words: readonly string[]): Promise<void> {
  const changes = parseAssignments(words)
  for (const [name, value] of Object.entries(changes))
    if (value === '-') Object.assign(changes, parseAssignments([`${name}=${(await readStdin(ctx.io, name)).trim()}`]))
  await save(ctx, withAbsolutePaths(changes, ctx.io.cwd))
}

async function unset(ctx: Context, names: readonly string[]): Promise<void> {
  const found = (await readSettings(ctx)) ?? {}
  const unknown = names.find((name) => !Object.hasOwn(settings, name) && !Object.hasOwn(found, name))
  if (unknown !== undefined) throw unknownSetting(unknown)
  const saved = names.filter((name) => Object.hasOwn(found, name))
  for (const name of names) if (!saved.includes(name)) ctx.out.note(`${name} was not set.`)
  if (saved.length > 0 || ctx.out.json) await save(ctx, Object.fromEntries(saved.map((name) => [name, null])))
}

/** Saves nothing that the server would refuse. */
async function save(ctx: Context, changes: Readonly<Record<string, string | null>>): Promise<void> {
  const { out } = ctx
  const left = await requireValid(ctx, changes)
  const path = await writeSettings(ctx, changes)
  const shown = Object.fromEntries(
    Object.entries(changes).map(([name, value]) => [name, value === null ? null : masked(name, value)]),
  )
  if (out.json) return out.document({ path, set: shown })
  for (const [name, value] of Object.entries(shown))
    out.line(green('✓ '), value === null ? `${name} removed` : `${name}=${value}`)
  for (const { says } of left) out.warn(`The server does not start yet: ${says}`)
  const running = (await runningServer(ctx)) !== null
  if (!running && (await warnOfForeign(ctx))) return
  const { next } = ctx
  out.note(
    running
      ? `Applies at the next start: ${next('svc self-host stop')}, then ${next('svc self-host start')}`
      : 'Applies at the next start.',
  )
}

/** A service has the file of settings in its unit. Every other start has an environment of its own. */
async function warnOfForeign(ctx: Context): Promise<boolean> {
  const server = await askServer(ctx, answerMs)
  if (server === null || (await isService(server))) return false
  ctx.out.warn(
    `The running server (${server.url}, process ${server.pid}) does not read these settings: another program started it. Set them in the environment of its start, such as before npm start.`,
  )
  return true
}

async function isService(server: ServerInfo): Promise<boolean> {
  if (!(await isHere(server))) return false
  return (await keeperOf(server.pid, (await programOf(server.pid))?.env ?? {})).kind === 'systemd'
}

const answerMs = 3_000

/** Answers with the problems of the file that these changes leave as they are. */
async function requireValid(
  ctx: Context,
  changes: Readonly<Record<string, string | null>>,
): Promise<readonly SettingsProblem[]> {
  const before = (await readSettings(ctx)) ?? {}
  const env = withSaved(ctx, { ...before, ...changes })
  const followLinks = ['SVC_BACKUP_DIR', 'SVC_DATA_DIR'].some((name) => Object.hasOwn(changes, name))
  const [problemsBefore = [], problems = []] = await examineSettings(ctx, [withSaved(ctx, before), env], {
    followLinks,
  })
  const earlier = new Set(problemsBefore.map(({ says }) => says))
  const found = problems.filter(({ says }) => !earlier.has(says))
  if (found.length === 0) return problems.filter(({ names }) => names.some((name) => Object.hasOwn(before, name)))
  const [first] = found
  const given = Object.entries(changes).filter((entry): entry is [string, string] => entry[1] !== null)
  const corrected = corrections(found, env)
  throw new UsageError(found.length === 1 ? first!.says : 'The server would refuse these settings', {
    lines: found.length === 1 ? [] : found.map(({ says }) => says),
    hint: 'Nothing was saved.',
    next: Object.keys(corrected).length === 0 ? [] : [setCommand({ ...Object.fromEntries(given), ...corrected })],
  })
}
