/** Routes requests and upgrades: checks access and picks the target. */
import { terminalPath } from '@svc/contract/daemon/terminal'

import type { RequestHead } from './access.ts'
import { type ControlParts, handleControl } from './control.ts'
import { type Addresses, openListeners, type ProxyTarget } from './listeners.ts'
import { nothingListens, type UpgradeUpstream, type Upstream } from './proxy.ts'
import { ControlError, runtimeBooting, unauthenticated } from './reply.ts'
import type { Terminals } from './terminals.ts'
import type { OwnPorts } from './target.ts'

export interface HttpParts extends ControlParts {
  terminals: Terminals | null
  ports: OwnPorts
  serviceKey: () => string
  runtimeState: () => 'starting' | 'ready' | 'stopped' | 'failed'
  runtimeError: () => string | null
  /** Keeps the runtime awake until the returned function is called. */
  useRuntime: () => Promise<() => void>
  /** The same for a program on that port, which may be one of the runtime's. */
  usePort: (port: number) => () => void
  holdStream: NonNullable<Upstream['hold']>
  log: (message: string) => void
}

export function listen(parts: HttpParts, at: Addresses) {
  return openListeners(at, {
    ...parts,
    control: (name, req, res, head) => handleControl(name, req, res, head, parts),
    admit: (target, head) => admit(target, head, parts),
    admitUpgrade: (target, head) =>
      target.kind === 'control' ? admitTerminal(target.name, head, parts) : admit(target, head, parts),
  })
}

/** The only control route that upgrades. It requires a user: the service key alone does not identify one. */
async function admitTerminal(name: string, head: RequestHead, parts: HttpParts): Promise<UpgradeUpstream> {
  if (`/svc/${name}` !== terminalPath) throw new ControlError(400, 'invalid', 'This route does not upgrade.')
  if (parts.access === null) throw runtimeBooting()
  const outcome = await parts.access.user(head)
  if (outcome.kind === 'refused') throw unauthenticated(outcome.reason)
  if (parts.terminals === null) throw runtimeBooting()
  // A person at work needs the agent soon.
  const done = await parts.useRuntime()
  return { socketPath: parts.terminals.socketPath, path: head.path, refused: runtimeBooting, done }
}

/** Checks access for a request or an upgrade and returns its target. */
async function admit(target: ProxyTarget, head: RequestHead, parts: HttpParts): Promise<Upstream> {
  if (parts.access === null) throw runtimeBooting()
  const outcome = await parts.access.user(head)
  if (outcome.kind === 'refused') throw unauthenticated(outcome.reason)
  switch (target.kind) {
    case 'refused':
      throw new ControlError(400, 'invalid', target.reason, { hint: target.hint })
    case 'port':
      return {
        port: target.port,
        path: target.path,
        refused: () => nothingListens(target.port),
        done: parts.usePort(target.port),
      }
    case 'runtime': {
      const done = await parts.useRuntime()
      const refusal = refusalOf(parts)
      if (refusal === null)
        return { port: parts.ports.runtime, path: target.path, refused: runtimeBooting, done, hold: parts.holdStream }
      done()
      throw refusal
    }
    default:
      return target satisfies never
  }
}

function refusalOf(parts: HttpParts): ControlError | null {
  if (parts.runtimeState() === 'failed')
    return new ControlError(502, 'runtime_failed', parts.runtimeError() ?? 'The agent runtime is not running.')
  return parts.runtimeState() === 'ready' ? null : runtimeBooting()
}
