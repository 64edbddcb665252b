import { existsSync } from 'node:fs'
import type { MoveReport } from '@svc/contract/daemon/operator-reports'
import { command } from '../../arguments/command.ts'
import { withSettings } from '../../arguments/shell-word.ts'
import type { Context } from '../../context.ts'
import { Refusal, UsageError } from '../../errors.ts'
import { askServer } from '../../self-host/ask-owner-link.ts'
import { askServerProgram } from '../../self-host/ask-program.ts'
import { foreignServer } from '../../self-host/foreign-server.ts'
import { dataDirOf, serverEnvironment } from '../../self-host/environment.ts'
import { readSettings, writeSettings } from '../../self-host/settings.ts'
import { runningServer } from '../../self-host/state.ts'
import { bold, green } from '../../terminal/output.ts'
import { valueOrStdin } from '../../terminal/read-stdin.ts'

export const moveDatabase = command({
  summary: 'Move the data of your stopped server to another PostgreSQL, or back into the embedded one',
  about: [
    'The server is stopped; agents go on meanwhile. Every row is copied into an empty database and compared, and only then the server uses it. The database before is kept as it was, and no server starts on it any more. After an interruption, run the command again.',
    "Run it on the server's machine with the server's settings: those of svc self-host env, or the same SVC_DATA_DIR and DATABASE_URL. The role of the URL has to own its database, or may create tables there; it needs no other right and no extension.",
    'The new URL is saved in the settings of svc self-host start. A server that is started otherwise needs it in its DATABASE_URL.',
  ],
  scope: 'nothing',
  args: {
    to: {
      summary:
        'postgresql://… of an empty database, embedded, or - to read the URL from stdin, which keeps its password out of the history of your shell',
    },
  },
  examples: [
    'svc self-host move-database postgresql://svc:password@db.example:5432/svc',
    'svc self-host move-database - < url-of-the-database',
    'svc self-host move-database embedded',
  ],
  async run(ctx, { args }) {
    const { out } = ctx
    const to = (await valueOrStdin(ctx.io, args.to, 'the URL of the database')).trim()
    if (to !== 'embedded' && !/^postgres(ql)?:\/\/\S+$/.test(to))
      throw new UsageError('Neither a URL of PostgreSQL nor the word embedded', {
        next: ['svc self-host move-database postgresql://svc:password@db.example:5432/svc'],
      })
    await refuseWhileRunning(ctx)
    const moved = await move(ctx, to)
    const saved = await saveUrl(ctx, to === 'embedded' ? null : to)
    if (out.json) return out.document({ moved: true, ...moved, saved_in: saved.in })
    show(ctx, moved)
    sayNext(ctx, { to, saved })
  },
})

async function refuseWhileRunning(ctx: Context): Promise<void> {
  const server = await askServer(ctx)
  if (server === null) return
  const ours = await runningServer(ctx)
  if (ours?.pid !== server.pid) throw await foreignServer(server, { moved: false })
  throw new Refusal('not_available', `The server is running: ${server.url} (process ${server.pid})`, {
    hint: 'Its data can move while it is stopped. Agents go on meanwhile.',
    next: ['svc self-host stop'],
    detail: { moved: false, pid: server.pid },
  })
}

async function move(ctx: Context, to: string): Promise<MoveReport> {
  const { out } = ctx
  out.passing('Connecting')
  try {
    return await askServerProgram<MoveReport>(ctx, '--move-database', {
      ms: 0,
      input: to,
      // A move that ends after this command would end without the new address in the settings.
      isTied: true,
      otherwise: 'The move was interrupted. Nothing is lost: run the command again.',
      onLine: (line) => out.passing(progressIn(line)),
    })
  } finally {
    out.clearPassing()
  }
}

const phases = { reading: 'Reading', copying: 'Copying', comparing: 'Comparing' } as const

function progressIn(line: string): string {
  // Another line is the error, which is shown at the end.
  if (!line.startsWith('{"phase"')) return 'Ending'
  const at = JSON.parse(line) as { phase: keyof typeof phases; table: string; done: number; of: number }
  const [done, of] = [at.done, at.of].map((count) => count.toLocaleString('en'))
  return `${phases[at.phase]} ${at.table} (${done} of ${of} ${at.phase === 'copying' ? 'rows' : 'tables'})`
}

/** The settings file, or else null and the data folder of another server whose settings are saved there. */
type Saved = { in: string; other: null } | { in: null; other: string | null }

/** The settings are those of this server only if they lead to its data folder without the help of this shell. */
async function saveUrl(ctx: Context, url: string | null): Promise<Saved> {
  const kept = await readSettings(ctx)
  if (kept === null) return { in: null, other: null }
  const { SVC_DATA_DIR: _, ...rest } = await serverEnvironment(ctx)
  const theirs = dataDirOf({ ...rest, ...(kept.SVC_DATA_DIR ? { SVC_DATA_DIR: kept.SVC_DATA_DIR } : {}) })
  if (theirs !== dataDirOf(await serverEnvironment(ctx))) return { in: null, other: existsSync(theirs) ? theirs : null }
  return { in: await writeSettings(ctx, { DATABASE_URL: url }), other: null }
}

function show(
  { out }: Context,
  { from, to, finished_earlier: isFinished, rows, tables, set_aside: aside }: MoveReport,
) {
  const what = isFinished
    ? 'The data had moved already'
    : `Moved ${rows.toLocaleString('en')} rows of ${tables} tables, all compared`
  out.line(green('✓ '), `${what}: `, bold(to))
  out.note(`The database before is kept as it was, and no server starts on it any more: ${from}`)
  if (aside !== null) out.note(`The embedded database of before is now ${aside}`)
}

function sayNext({ out, io, next }: Context, { to, saved }: { to: string; saved: Saved }): void {
  const isEmbedded = to === 'embedded'
  const setting = isEmbedded ? 'no DATABASE_URL' : 'DATABASE_URL, the URL of this command,'
  const inShell = io.env.DATABASE_URL ?? ''
  if (inShell !== '' && inShell !== to)
    out.warn(`This shell still sets DATABASE_URL to the database before. Run: unset DATABASE_URL`)
  const withShell = next('svc self-host start')
  // The URL of before in this shell counts more than the saved settings, unless it is empty.
  const start =
    inShell === '' || inShell === to
      ? withShell
      : `DATABASE_URL= ${withSettings('svc self-host start', { ...io.env, DATABASE_URL: undefined })}`
  if (saved.in !== null) out.note(`Saved in ${saved.in}. Next: ${start}`)
  const who =
    saved.in === null
      ? 'Before the next start, the server'
      : 'A service of svc self-host unit reads those settings, too. Any other server, such as one of npm start,'
  out.note(`${who} needs ${setting} where its settings are: the environment, or the EnvironmentFile of its service.`)
  if (saved.in === null && !isEmbedded)
    out.note(
      saved.other === null
        ? `Next, for svc self-host start: ${next('svc self-host env set DATABASE_URL=-')}, which asks for the URL, then ${start}`
        : `Next, for svc self-host start: set DATABASE_URL in this shell, then ${withShell}. The saved settings are those of the server in ${saved.other}.`,
    )
  if (!isEmbedded)
    out.note(
      'With DATABASE_URL, repositories of this machine and of private addresses need SVC_FILE_REPOSITORY_ROOTS and SVC_ALLOW_PRIVATE_GIT_HOSTS=1.',
    )
}
