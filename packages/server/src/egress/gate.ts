/** Opens and closes the ways out, one socket per sandbox: whoever speaks on it is that sandbox. */
import { createHash } from 'node:crypto'
import { chmod, mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { type EgressRule, parseEgressPattern } from '@svc/contract'
import type { SandboxDriver } from '@svc/sandbox'
import type { Logger } from 'pino'
import type { OperatorEgress } from '../config-sandboxes.ts'
import { type DialPolicy, publicInternet } from './dial.ts'
import { createEgressProxy, type ProxyLimits } from './proxy.ts'

export interface EgressGate {
  /** The socket for this sandbox's driver, or null where the operator allows no way out. */
  open(sandboxId: string, patterns: readonly string[], about: Record<string, string>): Promise<string | null>
  close(sandboxId: string): Promise<void>
  /** Removes the sockets of an earlier server. */
  sweep(): Promise<void>
}

/** Hosts of one sandbox that are written to the log; what tries more is told, and no longer noted. */
const refusedMax = 100

export function makeEgressGate(options: {
  /** A folder of the server's own, 0700. */
  folder: string
  operator: OperatorEgress
  log: Logger
  dial?: DialPolicy
  limits?: Partial<ProxyLimits>
}): EgressGate {
  const open = new Map<string, { close(): Promise<void>; path: string }>()
  const { log, operator } = options

  async function close(sandboxId: string): Promise<void> {
    const way = open.get(sandboxId)
    open.delete(sandboxId)
    await way?.close()
    if (way !== undefined) await rm(way.path, { force: true })
  }

  return {
    close,
    async open(sandboxId, patterns, about) {
      if (operator === 'none') return null
      await close(sandboxId)
      await mkdir(options.folder, { recursive: true, mode: 0o700 })
      // Short: the path of a socket ends at 107 bytes.
      const path = join(options.folder, createHash('sha256').update(sandboxId).digest('hex').slice(0, 16))
      await rm(path, { force: true })
      const refused = new Set<string>()
      const proxy = createEgressProxy({
        dial: options.dial ?? publicInternet,
        operator,
        project: rulesOf(patterns),
        ...(options.limits === undefined ? {} : { limits: options.limits }),
        onRefused({ host, port, reason }) {
          const at = `${host}:${port}`
          if (refused.has(at) || refused.size >= refusedMax) return
          refused.add(at)
          log.warn({ ...about, sandbox_id: sandboxId, host, port, reason }, 'a sandbox may not reach a host')
        },
      })
      await new Promise<void>((resolve, reject) => {
        proxy.server.once('error', reject)
        proxy.server.listen(path, resolve)
      })
      await chmod(path, 0o600)
      open.set(sandboxId, { close: proxy.close, path })
      return path
    },
    async sweep() {
      if (open.size === 0) await rm(options.folder, { recursive: true, force: true })
    },
  }
}

/** What is no pattern allows nothing; svc.toml names it as an issue. */
function rulesOf(patterns: readonly string[]): EgressRule[] {
  return patterns.flatMap((pattern) => {
    const parsed = parseEgressPattern(pattern)
    return typeof parsed === 'string' ? [] : parsed
  })
}

/** The same driver; with a sandbox goes its way out. */
export function closingEgress(driver: SandboxDriver, gate: EgressGate): SandboxDriver {
  driver.onExit(({ sandboxId }) => void gate.close(sandboxId))
  return {
    ...driver,
    async stop(sandboxId) {
      await driver.stop(sandboxId)
      await gate.close(sandboxId)
    },
    async sweep() {
      await driver.sweep()
      await gate.sweep()
    },
  }
}
