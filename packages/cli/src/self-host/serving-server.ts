/** The server that `svc self-host` started, also when its start was killed before the server was ready. */
import type { Context } from '../context.ts'
import { Refusal } from '../errors.ts'
import { askServerIn } from './ask-owner-link.ts'
import { rememberServer, runningServer, type ServerState, type ServingServer } from './state.ts'

/** A server that is ready answers at once, also on a busy machine. */
const answerMs = 3_000

/** Throws while it is not ready. */
export async function servingServer(ctx: Context): Promise<ServingServer | null> {
  const server = await startedServer(ctx)
  if (server === null) return null
  const { url } = server
  if (url !== null) return { ...server, url }
  throw new Refusal('not_available', `The server (process ${server.pid}) is starting and does not answer yet`, {
    hint: `Look again in a moment. Its log is ${server.log}.`,
    next: ['svc self-host status', 'svc self-host logs', 'svc self-host stop'],
  })
}

/** Once it is ready, the server itself knows its URL. */
export async function startedServer(ctx: Context): Promise<ServerState | null> {
  const server = await runningServer(ctx)
  if (server === null || server.url !== null) return server
  const info = await askServerIn(server.data_dir, answerMs)
  if (info === null || info.pid !== server.pid) return server
  const serving = { ...server, url: info.url }
  await rememberServer(ctx, serving, { isCopy: info.held != null })
  return serving
}
