/** The build and run log of an app: at once, or as server-sent events. */
import type { AppLogLine } from '@svc/contract'
import { isUuid, notFound } from '../../auth/allow.ts'
import type { Deps } from '../../deps.ts'
import { streamOf } from '../../http/bodies/streams.ts'
import { pause } from '../../pause.ts'
import { readableDeploys } from './agent-access.ts'
import { chunksAfter, lastLines } from './store.ts'
import { presentDeploy } from '../present.ts'
import { type AppRow, type DeployRow, getApp, getDeploy, listDeploys } from '../store.ts'

type LogDeps = Pick<Deps, 'db' | 'log'>

export async function deployNamed(deps: Pick<Deps, 'db'>, app: AppRow, name: string | undefined) {
  const deploys = await listDeploys(deps.db, app)
  if (name === undefined) return deploys[0] ?? null
  const found = deploys.find(({ deploy_id, number }) => deploy_id === name || `${number}` === name.replace(/^#/, ''))
  if (found === undefined) throw notFound('deploy')
  return found
}

export async function readLog(deps: Pick<Deps, 'db'>, deploy: DeployRow | null, count: number) {
  if (deploy === null) return { deploy: null, lines: [], truncated: false }
  const { lines, truncated } = await lastLines(deps.db, deploy.deploy_id, count)
  return { deploy: presentDeploy(deploy), lines, truncated }
}

const pollEveryMs = 400
const heartbeatMs = 15_000

interface Follow {
  app: AppRow
  /** Null follows the newest deploy, including later ones. */
  pinned: DeployRow | null
  readerSessionId: string | null
  lines: number
  lastEventId: string | null
  signal: AbortSignal
}

/** Sends `deploy` when the followed deploy or its status changes, and `line` for each line. An event id names deploy and chunk, so that a reconnecting reader continues after it. */
export function followLog(deps: LogDeps, input: Follow): Response {
  return new Response(streamOf(encodedFrames(deps, input)), {
    headers: { 'content-type': 'text/event-stream', 'cache-control': 'no-store', 'x-accel-buffering': 'no' },
  })
}

async function* encodedFrames(deps: LogDeps, input: Follow): AsyncGenerator<Uint8Array> {
  try {
    for await (const frame of framesOf(deps, input)) yield new TextEncoder().encode(frame)
  } catch (error) {
    deps.log.warn({ err: error, app: input.app.slug }, 'following the log of an app failed')
    throw error
  }
}

async function* framesOf(
  deps: LogDeps,
  { app, pinned, readerSessionId, lines, lastEventId, signal }: Follow,
): AsyncGenerator<string> {
  let sent = ''
  let readable = ''
  let at = parseId(lastEventId)
  let sentAt = Date.now()
  while (!signal.aborted) {
    const deploy = await current(deps, app, pinned)
    if (deploy === null && (await getApp(deps.db, app.project_id, app.slug)) === null) return
    let text = ''
    if (deploy !== null && deploy.deploy_id !== readable) {
      // A newer deploy may name a secret that the session does not have. The next request is refused with the reason.
      if (!(await readableDeploys(deps, readerSessionId, app))(deploy.deploy_id)) return
      readable = deploy.deploy_id
    }
    if (deploy !== null) {
      const shown = presentDeploy(deploy)
      const state = JSON.stringify(shown)
      if (state !== sent) text += `event: deploy\ndata: ${state}\n\n`
      sent = state
      if (at?.deployId !== deploy.deploy_id) {
        // The first deploy starts with its newest lines, a later one with all of its lines.
        const begin = await lastLines(deps.db, deploy.deploy_id, at === null ? lines : Number.MAX_SAFE_INTEGER)
        at = { deployId: deploy.deploy_id, chunk: begin.lastChunk }
        text += framed(begin.lines, at)
      } else {
        for (const chunk of await chunksAfter(deps.db, deploy.deploy_id, at.chunk)) {
          at = { deployId: deploy.deploy_id, chunk: chunk.chunk_id }
          text += framed(chunk.lines, at)
        }
      }
    }
    if (text === '' && Date.now() - sentAt > heartbeatMs) text = ': still here\n\n'
    if (text !== '') {
      sentAt = Date.now()
      yield text
    }
    await pause(pollEveryMs, signal)
  }
}

async function current(deps: LogDeps, app: AppRow, pinned: DeployRow | null): Promise<DeployRow | null> {
  if (pinned !== null) return getDeploy(deps.db, pinned.deploy_id)
  return (await listDeploys(deps.db, app))[0] ?? null
}

interface Position {
  deployId: string
  chunk: number
}

function framed(lines: AppLogLine[], { deployId, chunk }: Position): string {
  return lines.map((line) => `id: ${deployId}.${chunk}\nevent: line\ndata: ${JSON.stringify(line)}\n\n`).join('')
}

function parseId(text: string | null): Position | null {
  const [, deployId = '', chunk] = /^([0-9a-f-]{36})\.(\d{1,15})$/.exec(text ?? '') ?? []
  return isUuid(deployId) ? { deployId, chunk: Number(chunk) } : null
}
