/** How a running server answers, as `status` and `start` show it. */
import type { DatabaseInfo, ServerInfo } from '@svc/contract/daemon/owner-socket'
import { trustHint } from '../api.ts'
import type { Context } from '../context.ts'
import { askServerIn } from './ask-owner-link.ts'
import { askReady, type Ready, tryReady } from './ask-ready.ts'
import { isPaused, type ServerState } from './state.ts'

export type Found = Pick<ServerState, 'pid' | 'url' | 'data_dir'> & { program?: string }

/** A server that works answers at once, also on a busy machine. */
export const silentMs = 3_000

export interface Answers {
  /** At its public address. */
  atUrl: Ready | null
  /** Why this client does not accept the certificate of that address. */
  untrusted: string | null
  /** At its own port, where the public address does not answer. */
  own: { url: string; ready: Ready } | null
  /** At its own port, or else at its public address. Null: it is paused or does not answer. */
  ready: Ready | null
  paused: boolean
  info: ServerInfo | null
  database: DatabaseInfo | null
}

/** `infoMs`: how long its socket may take. */
export async function askRunning(server: Found, infoMs?: number): Promise<Answers> {
  const [answer, info] = await Promise.all([tryReady(server), askServerIn(server.data_dir, infoMs)])
  const untrusted = answer !== null && 'untrusted' in answer ? answer.untrusted : null
  const atUrl = answer === null || 'untrusted' in answer ? null : answer
  // A balancer may have passed the question on to another server.
  const paused = await isPaused(server.pid)
  const atOwnPort = paused ? null : await askAtOwnPort(server, info)
  const own = atUrl === null ? atOwnPort : null
  const ready = paused ? null : (atOwnPort?.ready ?? atUrl)
  return { atUrl, untrusted, own, ready, paused, info, database: info?.database ?? null }
}

/** Null: it answers at its public address, and accepts changes. */
export function troubleOf({ untrusted, own, ready, paused, database }: Answers): string | null {
  if (paused) return notResponding(true)
  if (untrusted !== null) return 'running, and the certificate of its public address is not trusted here'
  if (own !== null) return 'running, but its public address does not answer'
  if (ready === null) return notResponding(false, database)
  return database?.read_only === true ? 'running, but its database is read-only' : null
}

export function notResponding(paused: boolean, database: DatabaseInfo | null = null): string {
  if (paused) return 'paused by a signal'
  return database === null || database.problem === null
    ? 'running, but not responding'
    : 'running, but its database does not answer'
}

/** Says what to do about each trouble. */
export function noteTrouble(ctx: Context, server: Found, { untrusted, own, paused, database }: Answers): void {
  if (paused) noteContinue(ctx, server.pid)
  if (database !== null && database.problem !== null) {
    const again = database.kind === 'embedded' ? ' The server starts it again by itself.' : ''
    ctx.out.note(
      `Until its database answers, the server refuses requests (503).${again} To examine it: ${ctx.next('svc self-host doctor')}`,
    )
  }
  if (database?.read_only === true)
    ctx.out.note(
      `Its database accepts no changes, so the server answers reads and refuses the rest (503). What to do: ${ctx.next('svc self-host doctor')}`,
    )
  noteAddress(ctx, { url: server.url, untrusted, own })
}

/** Why its public address does not lead to it from here. */
function noteAddress(
  { out }: Context,
  { url, untrusted, own }: { url: string | null; untrusted: string | null; own: { url: string } | null },
): void {
  if (untrusted !== null)
    out.note(`The certificate of ${url} is not trusted by this client: ${untrusted}. ${trustHint}`)
  else if (own !== null)
    out.note(
      `The server answers at ${own.url}, its own port. Look at the balancer or proxy of ${url}, and whether this machine reaches that address.`,
    )
}

/** Past a balancer or proxy that is not there yet, or is down. */
async function askAtOwnPort(server: Pick<ServerState, 'url'>, info: ServerInfo | null) {
  const url = info?.own_url ?? null
  if (url === null || url === server.url) return null
  const ready = await askReady({ url })
  return ready === null ? null : { url, ready }
}

export function noteContinue({ out }: Context, pid: number): void {
  out.note(`To continue it: kill -CONT ${pid}`)
}
