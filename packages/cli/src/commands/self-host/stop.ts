import { count } from '@svc/contract/count'
import type { RunningSandboxes, ServerInfo, UnsavedSession } from '@svc/contract/daemon/owner-socket'
import { ServiceError } from '@svc/contract/errors'
import { command } from '../../arguments/command.ts'
import type { Context } from '../../context.ts'
import { Guided, UsageError } from '../../errors.ts'
import { askServer, askServerIn, askStopWithSessions } from '../../self-host/ask-owner-link.ts'
import { askServerProgram } from '../../self-host/ask-program.ts'
import { foreignServer } from '../../self-host/foreign-server.ts'
import { forgetServer, leftServer, rememberServer, runningServer } from '../../self-host/state.ts'
import { noteBeside } from '../../self-host/note-beside.ts'
import { untilStopped } from '../../self-host/until-stopped.ts'
import { clockText, countsOf, leaseText, leftRunning, verbFor } from '../../self-host/what-runs.ts'

/** A server that does not answer is stopped without its counts. */
const countMs = 3000

export const stop = command({
  summary: 'Stop the server that svc self-host started',
  about: [
    'Agents, apps and checks go on; the next start continues them. Without a start they end after SVC_SANDBOX_LEASE_SECONDS.',
    '--sessions ends them, and saves the unfinished work of sessions first. When the server is stopped already, it starts the database for this. svc sessions restart continues a session; apps and checks start again with the server. Removes nothing.',
    'Exit code 1, with nothing ended, if the newest work of a session cannot be saved, as on a full disk. --discard loses that work.',
    'Exit code 1 if another program started the server: stop it there.',
  ],
  scope: 'nothing',
  flags: {
    sessions: { kind: 'switch', summary: 'Also end sessions, apps and checks, or what a stopped server left' },
    discard: { kind: 'switch', summary: 'With --sessions: even if newest work cannot be saved, and lose that work' },
  },
  examples: ['svc self-host stop', 'svc self-host stop --sessions', 'svc self-host stop --json'],
  async run(ctx, { flags }) {
    const { discard } = flags
    if (discard && !flags.sessions)
      throw new UsageError('--discard is for --sessions', { hint: 'A stop without --sessions loses no work.' })
    const server = await runningServer(ctx)
    // Its folder is known, so that settings which cannot be read do not keep it from a stop.
    const answer = flags.sessions ? await askToEnd(ctx, { dataDir: server?.data_dir, discard }) : null
    const asked = answer === 'older' ? null : answer
    if (server === null) return flags.sessions ? endWithoutOurs(ctx, asked, discard) : stopWithoutOurs(ctx)
    const info = asked ?? (await askServerIn(server.data_dir, countMs))
    const sandboxes = (info?.pid === server.pid ? info.sandboxes : null) ?? null
    // After an interrupt of this command, its end was still a stop.
    await rememberServer(ctx, { ...server, stop_asked: true }, { isCopy: true })
    if (asked === null) process.kill(server.pid, 'SIGTERM')
    const goOn = !flags.sessions && sandboxes?.outlive === true
    await untilStopped(ctx, server, { goOn })
    // It was stopping without its sandboxes already, or did not answer.
    if (flags.sessions && answer === null) return endLeft(ctx, server.pid, discard)
    ctx.out.done({ stopped: true, pid: server.pid, sandboxes }, `Stopped (process ${server.pid})`)
    if (flags.sessions || sandboxes?.outlive === false) noteEnded(ctx, sandboxes, discard)
    else noteGoesOn(ctx, sandboxes)
  },
})

function noteGoesOn({ out, next, io }: Context, sandboxes: RunningSandboxes | null): void {
  const end = next('svc self-host stop --sessions')
  if (sandboxes === null) return out.note(`Agents at work go on; the next start continues them. To end them: ${end}`)
  const counts = countsOf(sandboxes)
  if (counts === null) return out.note('No session, app or check was running.')
  const { lease_seconds: lease } = sandboxes
  const until =
    lease === undefined
      ? 'for SVC_SANDBOX_LEASE_SECONDS'
      : `until ${clockText(io.now() + lease * 1000, io.now())} (${leaseText(lease)})`
  out.note(`${counts} ${verbFor(sandboxes)} on ${until}. To continue with a server: ${next('svc self-host start')}`)
  out.note(`To end ${verbFor(sandboxes) === 'goes' ? 'it' : 'them'}: ${end}`)
}

async function askToEnd(ctx: Context, asked: Parameters<typeof askStopWithSessions>[1]) {
  ctx.out.passing('saving the work of sessions…')
  try {
    return await askStopWithSessions(ctx, asked)
  } catch (error) {
    throw error instanceof ServiceError && error.code === 'work_not_saved' ? refused(error) : error
  }
}

function refused(error: ServiceError): Guided {
  const sessions = (error.detail.sessions ?? []) as UnsavedSession[]
  return new Guided(error, {
    lines: sessions.map(
      ({ session_id: id, name, reason }) => `session ${id.slice(0, 8)}${name === null ? '' : ` (${name})`}: ${reason}`,
    ),
    hint: 'Mend that or push the work, and repeat the command. Without --sessions, agents go on while the server is stopped. With --discard they end, and that work is lost.',
    next: ['svc self-host doctor', 'svc self-host stop', 'svc self-host stop --sessions --discard'],
  })
}

/** Null counts are those of a server that could not tell them. */
function noteEnded({ out, next }: Context, counts: Counts | null, discard: boolean): void {
  const what = counts === null ? 'sessions, apps and checks' : countsOf(counts)
  if (what === null) return out.note('No session, app or check was running.')
  out.note(`Ended ${what}.`)
  if (counts?.sessions === 0)
    return out.note(`Apps and checks start again with the server: ${next('svc self-host start')}`)
  out.note(
    `The unfinished work of sessions is saved${discard ? ' where it could be' : ''}; a session whose work could not be saved says so: ${next('svc sessions info <session>')}`,
  )
  out.note(
    `To continue a session: ${next('svc self-host start')}, ${next('svc sessions restart <session>')}, then ${next('svc sessions chat <session>')}`,
  )
}

type Counts = Pick<RunningSandboxes, 'sessions' | 'apps' | 'checks'>

async function stopWithoutOurs(ctx: Context): Promise<void> {
  const { out } = ctx
  const left = await leftServer(ctx)
  await forgetServer(ctx)
  const other = await askServer(ctx)
  if (other !== null) throw await foreignServer(other, { stopped: false })
  if (out.json) return out.document({ stopped: false, pid: null, left })
  if (left === null) {
    out.note('No server started by svc self-host start is running.')
    return noteBeside(ctx, 'svc self-host stop')
  }
  out.note(`Process ${left.pid} ended without svc self-host stop. Its log is ${left.log}.`)
  out.note(await leftRunning(ctx))
}

/** The database starts first, and a sandbox on a busy machine may be silent for a minute. */
const endLeftMs = 180_000

interface Left extends Counts {
  ended: number
  unsaved: number
  kept: UnsavedSession[]
}

/** A running server ends its own sandboxes. This ends those that a stopped server left. */
async function endWithoutOurs(ctx: Context, asked: ServerInfo | null, discard: boolean): Promise<void> {
  const { out } = ctx
  if (asked !== null) {
    const { pid, sandboxes } = asked
    out.done({ stopped: true, pid, sandboxes: sandboxes ?? null }, `Process ${pid} is stopping`)
    return noteEnded(ctx, sandboxes ?? null, discard)
  }
  const other = await askServer(ctx)
  if (other !== null) throw await foreignServer(other, { stopped: false })
  await forgetServer(ctx)
  await endLeft(ctx, null, discard)
}

/** `stopped`: the process of the server that this command stopped. */
async function endLeft(ctx: Context, stopped: number | null, discard: boolean): Promise<void> {
  const { out } = ctx
  const report = await askServerProgram<Left>(ctx, '--end-sandboxes', {
    ms: endLeftMs,
    otherwise: 'The sandboxes could not be ended.',
    more: discard ? ['--discard'] : [],
  })
  const { ended, unsaved, kept, ...counts } = report
  if (kept.length > 0) {
    const why = `because the newest work of ${count(kept.length, 'session')} cannot be saved.`
    const detail = { stopped: stopped !== null, pid: stopped, sessions: kept }
    throw refused(new ServiceError('work_not_saved', `No session, app or check was ended, ${why}`, { detail }))
  }
  const server = stopped === null ? 'No server was running' : `Stopped (process ${stopped})`
  out.done({ stopped: stopped !== null, pid: stopped, ended, unsaved, sandboxes: counts }, server)
  if (countsOf(counts) === null && ended > 0)
    return out.note(`Ended ${ended === 1 ? '1 sandbox that was' : `${ended} sandboxes that were`} not in use.`)
  noteEnded(ctx, counts, discard)
  if (unsaved === 0) return
  const whose = unsaved === 1 ? '1 session are' : `${unsaved} sessions are`
  out.warn(`The last changes of ${whose} not saved. The page of a session says why.`)
}
