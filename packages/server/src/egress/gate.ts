/** Opens and closes one egress proxy per sandbox. Each has a socket of its own, which identifies the sandbox. */
import { createHash } from 'node:crypto'
import { chmod, mkdir, readdir, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { type EgressRule, parseEgressPattern } from '@svc/contract'
import type { SandboxDriver } from '@svc/sandbox'
import type { Logger } from 'pino'
import type { OperatorEgress } from '../config/sandboxes.ts'
import { type DialPolicy, publicInternet } from './dial.ts'
import { EgressProxy, type ProxyLimits } from './proxy.ts'

export interface EgressGate {
  /** The socket for the sandbox's driver, or null if the operator allows no egress. */
  open(sandboxId: string, patterns: readonly string[], about: Record<string, string>): Promise<string | null>
  /** Replaces the egress list of a running sandbox, if it has egress. */
  allow(sandboxId: string, patterns: readonly string[]): void
  close(sandboxId: string): Promise<void>
  /** Ends with the server. The folders stay, because sandboxes that go on have them mounted. */
  end(): Promise<void>
  /** Removes the folders of an earlier server, except those that live sandboxes have mounted. */
  sweep(live: readonly string[]): Promise<void>
}

/** The number of refused hosts logged per sandbox. Further ones are refused without a log entry. */
const refusedMax = 100

export function makeEgressGate(options: {
  /** A private folder of the server with mode 0700. */
  folder: string
  operator: OperatorEgress
  log: Logger
  dial?: DialPolicy
  limits?: Partial<ProxyLimits>
}): EgressGate {
  const open = new Map<string, { proxy: EgressProxy; path: string }>()
  const { log, operator } = options

  async function close(sandboxId: string): Promise<void> {
    const egress = open.get(sandboxId)
    open.delete(sandboxId)
    await egress?.proxy.close()
    if (egress !== undefined) await rm(dirname(egress.path), { recursive: true, force: true })
  }

  return {
    close,
    allow: (sandboxId, patterns) => open.get(sandboxId)?.proxy.allow(rulesOf(patterns)),
    async open(sandboxId, patterns, about) {
      if (operator === 'none') return null
      await close(sandboxId)
      await mkdir(options.folder, { recursive: true, mode: 0o700 })
      // Short, because a socket path may have only 107 bytes. Each is alone in its folder, which the driver mounts.
      const folder = join(options.folder, folderName(sandboxId))
      await mkdir(folder, { recursive: true, mode: 0o755 })
      const path = join(folder, 'egress.sock')
      await rm(path, { force: true })
      const refused = new Set<string>()
      const proxy = new EgressProxy({
        dial: options.dial ?? publicInternet,
        operator,
        project: rulesOf(patterns),
        ...(options.limits === undefined ? {} : { limits: options.limits }),
        onRefused({ host, port, reason }) {
          const at = `${host}:${port}`
          if (refused.has(at) || refused.size >= refusedMax) return
          refused.add(at)
          log.warn({ ...about, sandbox_id: sandboxId, host, port, reason }, 'egress refused')
        },
      })
      await new Promise<void>((resolve, reject) => {
        proxy.server.once('error', reject)
        proxy.server.listen(path, resolve)
      })
      // The users of a sandbox are not ours. Only ours may enter the folder above.
      await chmod(path, 0o666)
      open.set(sandboxId, { proxy, path })
      return path
    },
    async end() {
      const proxies = [...open.values()].map(({ proxy }) => proxy.close())
      open.clear()
      await Promise.all(proxies)
    },
    async sweep(live) {
      const kept = new Set([...live, ...open.keys()].map(folderName))
      for (const name of await readdir(options.folder).catch((): string[] => []))
        if (!kept.has(name)) await rm(join(options.folder, name), { recursive: true, force: true })
    },
  }
}

const folderName = (sandboxId: string) => createHash('sha256').update(sandboxId).digest('hex').slice(0, 16)

/** Ignores invalid patterns, which svc.toml reports as issues. */
function rulesOf(patterns: readonly string[]): EgressRule[] {
  return patterns.flatMap((pattern) => {
    const parsed = parseEgressPattern(pattern)
    return typeof parsed === 'string' ? [] : parsed
  })
}

/** Closes a sandbox's egress when the sandbox stops. */
export function withEgressCleanup(driver: SandboxDriver, gate: EgressGate): SandboxDriver {
  driver.onExit(({ sandboxId }) => void gate.close(sandboxId))
  return {
    ...driver,
    async stop(sandboxId) {
      await driver.stop(sandboxId)
      await gate.close(sandboxId)
    },
    async sweep() {
      await driver.sweep()
      await gate.sweep((await driver.list()).map(({ sandboxId }) => sandboxId))
    },
  }
}
