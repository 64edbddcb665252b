/**
 * The daemon of a sandbox that runs one app or one check: receives the files, builds and runs them, reports the state,
 * and proxies requests to the app's port. It has no agent, no repository, and no connection to the service.
 */
import { mkdirSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Server } from 'node:net'

import {
  type AppProcessState,
  type AppSpec,
  type AppWatchReply,
  daemonPort,
  egressPort,
  relayPort,
  runtimePort,
} from '@svc/contract/daemon/control'

import { type Access, createAccess, type RequestHead } from '../http/access.ts'
import type { AgentIdentity, DaemonPaths } from '../config.ts'
import type { Lease } from '../http/lease.ts'
import { openListeners } from '../http/listeners.ts'
import { nothingListens, type Upstream } from '../http/proxy.ts'
import { startRelay } from '../http/relay.ts'
import { ControlError, readJson, sendJson, unauthenticated } from '../http/reply.ts'
import { proxyEnvironment } from '../runtime/runtime-config.ts'
import type { Target } from '../http/target.ts'
import { give } from '../workspace/workspace.ts'
import { createAppLog } from './log.ts'
import { createCheckRun } from './check.ts'
import { createAppRun } from './run.ts'
import { receiveApp } from './unpack.ts'

interface AppDaemonOptions {
  /** A check runs once and accepts no requests. */
  kind: 'app' | 'check'
  env: Record<string, string | undefined>
  identity: AgentIdentity
  paths: Pick<DaemonPaths, 'workspace' | 'home'>
  /** The command that starts this program as the agent. */
  program: string[]
  socketPath: string
  lease?: Lease | null
  egress: { port: number; socketPath: string } | null
  pausesMs?: number[]
  log: (message: string) => void
}

const ownPorts = { daemon: daemonPort, relay: relayPort, egress: egressPort, runtime: runtimePort }
const waitMsMax = 20_000

export async function startAppDaemon(options: AppDaemonOptions): Promise<{ stop(): void }> {
  const token = options.env['SVC_TOKEN'] ?? ''
  const access = await createAccess({
    token,
    sessionId: options.env['SVC_SESSION_ID'] ?? '',
    generation: Number(options.env['SVC_SANDBOX_GENERATION'] ?? Number.NaN),
  })
  let state: AppProcessState = 'waiting'
  let error: string | null = null
  let spec: AppSpec | null = null
  const waiting = new Set<() => void>()
  const wake = () => {
    for (const resume of waiting) resume()
    waiting.clear()
  }
  const log = createAppLog(wake)
  const run = (options.kind === 'check' ? createCheckRun : createAppRun)({
    ...options,
    proxy: proxyEnvironment(options.egress),
    log,
    changed(next, why) {
      state = next
      error = why
      wake()
    },
  })

  for (const folder of [options.paths.workspace, options.paths.home]) {
    mkdirSync(folder, { recursive: true })
    give(folder, options.identity)
  }
  const relays: Server[] = []
  if (options.egress !== null) relays.push(await startRelay(options.egress))

  async function take(req: IncomingMessage, res: ServerResponse): Promise<void> {
    if (state !== 'waiting') throw new ControlError(409, 'conflict', 'This sandbox already has an app.')
    state = 'unpacking'
    try {
      const { workspace } = options.paths
      spec = await receiveApp(req, { workspace, identity: options.identity, onSpec: (found) => (spec = found) })
    } catch (cause) {
      state = 'failed'
      error = cause instanceof Error ? cause.message : String(cause)
      throw cause
    }
    sendJson(res, 200, { ok: true })
    run.begin(spec).catch((cause: unknown) => {
      state = 'failed'
      error = cause instanceof Error ? cause.message : String(cause)
      options.log(`the app could not start: ${error}`)
      wake()
    })
  }

  async function watch(req: IncomingMessage): Promise<AppWatchReply> {
    const body = await readJson(req)
    const after = Number(body['after'] ?? 0)
    const waitMs = Math.min(Number(body['wait_ms'] ?? 0), waitMsMax)
    if (!Number.isSafeInteger(after) || !(waitMs >= 0))
      throw new ControlError(400, 'invalid', '"after" must be an integer and "wait_ms" a positive number.')
    const isNews = () => log.after(after).length > 0 || state !== (body['state'] ?? null)
    if (!isNews() && waitMs > 0) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resume, waitMs)
        function resume() {
          clearTimeout(timer)
          waiting.delete(resume)
          resolve()
        }
        waiting.add(resume)
        req.on('close', resume)
      })
    }
    return { state, error, starts: run.starts, exit_code: run.exitCode, lines: log.after(after) }
  }

  const listeners = await openListeners(
    { tcp: null, socketPath: options.socketPath, lease: options.lease ?? null },
    {
      ports: ownPorts,
      serviceKey: () => token,
      log: options.log,
      async control(name, req, res, head) {
        if (name === 'health')
          return sendJson(res, 200, { daemon: 'ok', status: state, error, slug: spec?.slug ?? null })
        const outcome = await access.control(head)
        if (outcome.kind === 'refused') throw unauthenticated(outcome.reason)
        if (name === 'app' && req.method === 'POST') return take(req, res)
        if (name === 'app/watch' && req.method === 'POST') return sendJson(res, 200, await watch(req))
        throw new ControlError(404, 'not_found', 'The daemon of an app does not have this route.')
      },
      admit: (target, head) => admit(access, target, head, spec),
      admitUpgrade: (target, head) => admit(access, target, head, spec),
    },
  )
  return {
    stop() {
      run.stop()
      listeners.close()
      for (const relay of relays) relay.close()
    },
  }
}

/** Only the app's own port is reachable; other ports of the sandbox stay private. */
async function admit(access: Access, target: Target, head: RequestHead, spec: AppSpec | null): Promise<Upstream> {
  const outcome = await access.user(head)
  if (outcome.kind === 'refused') throw unauthenticated(outcome.reason)
  if (target.kind !== 'port' || target.port !== spec?.port)
    throw new ControlError(400, 'invalid', 'Only the port of the app is reachable from outside.')
  return { port: target.port, path: target.path, refused: () => nothingListens(target.port) }
}
