/** Routes requests and upgrades: checks access and picks the target. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'

import { terminalPath } from '@svc/contract/daemon/terminal'

import type { RequestHead } from './access.ts'
import { type ControlParts, handleControl } from './control.ts'
import { type Addresses, type Listeners, openListeners } from './listeners.ts'
import {
  nothingListens,
  proxyRequest,
  proxyUpgrade,
  type UpgradeUpstream,
  type Upstream,
  writeErrorHead,
} from './proxy.ts'
import { ControlError, ignoreDisconnects, runtimeBooting, sendError, toControlError, unauthenticated } from './reply.ts'
import type { Terminals } from './terminals.ts'
import { type OwnPorts, type Target, targetOf } from './target.ts'

export interface HttpParts extends ControlParts {
  terminals: Terminals | null
  ports: OwnPorts
  serviceKey: () => string
  runtimeState: () => 'starting' | 'ready' | 'stopped' | 'failed'
  runtimeError: () => string | null
  log: (message: string) => void
}

export function listen(parts: HttpParts, at: Addresses): Promise<Listeners> {
  return openListeners(at, {
    request: (req, res) => onRequest(req, res, parts),
    upgrade: (req, socket, head) => onUpgrade(req, socket, head, parts),
  })
}

export const headOf = (req: IncomingMessage): RequestHead => ({
  method: req.method ?? '',
  path: req.url ?? '',
  rawHeaders: req.rawHeaders,
})

async function onRequest(req: IncomingMessage, res: ServerResponse, parts: HttpParts): Promise<void> {
  ignoreDisconnects(req, res)
  try {
    const head = headOf(req)
    const target = targetOf(head.path, parts.ports)
    if (target.kind === 'control') {
      await handleControl(target.name, req, res, head, parts)
      return
    }
    const upstream = await admit(target, head, parts)
    proxyRequest(req, res, upstream, parts.serviceKey())
  } catch (error) {
    sendError(res, toControlError(error, parts.log))
  }
}

async function onUpgrade(req: IncomingMessage, socket: Duplex, head: Buffer, parts: HttpParts): Promise<void> {
  socket.on('error', () => socket.destroy())
  try {
    const requestHead = headOf(req)
    const target = targetOf(requestHead.path, parts.ports)
    const upstream =
      target.kind === 'control'
        ? await admitTerminal(target.name, requestHead, parts)
        : await admit(target, requestHead, parts)
    proxyUpgrade(req, socket, head, upstream, parts.serviceKey())
  } catch (error) {
    writeErrorHead(socket, toControlError(error, parts.log))
  }
}

/** The only control route that upgrades. It requires a user: the service key alone does not identify one. */
async function admitTerminal(name: string, head: RequestHead, parts: HttpParts): Promise<UpgradeUpstream> {
  if (`/svc/${name}` !== terminalPath) throw new ControlError(400, 'invalid', 'This route does not upgrade.')
  if (parts.access === null) throw runtimeBooting()
  const outcome = await parts.access.user(head)
  if (outcome.kind === 'refused') throw unauthenticated(outcome.reason)
  if (parts.terminals === null) throw runtimeBooting()
  return { socketPath: parts.terminals.socketPath, path: head.path, refused: runtimeBooting }
}

/** Checks access for a request or an upgrade and returns its target. */
async function admit(
  target: Exclude<Target, { kind: 'control' }>,
  head: RequestHead,
  parts: HttpParts,
): Promise<Upstream> {
  if (parts.access === null) throw runtimeBooting()
  const outcome = await parts.access.user(head)
  if (outcome.kind === 'refused') throw unauthenticated(outcome.reason)
  switch (target.kind) {
    case 'refused':
      throw new ControlError(400, 'invalid', target.reason, { hint: target.hint })
    case 'port':
      return { port: target.port, path: target.path, refused: () => nothingListens(target.port) }
    case 'runtime':
      if (parts.runtimeState() === 'failed') {
        throw new ControlError(502, 'runtime_failed', parts.runtimeError() ?? 'The agent runtime is not running.')
      }
      if (parts.runtimeState() !== 'ready') throw runtimeBooting()
      return { port: parts.ports.runtime, path: target.path, refused: runtimeBooting }
    default:
      return target satisfies never
  }
}
