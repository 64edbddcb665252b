/** Which driver makes the sandboxes of this server. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { createContainerDriver, createLocalDriver, type SandboxDriver } from '@svc/sandbox'
import type { Logger } from 'pino'
import type { Config } from './config.ts'

type Named = Exclude<Config['sandboxDriver'], 'auto' | 'none'>

/** `auto` takes what works here, bubblewrap first: it starts in a fifth of the time and maps every sandbox to ids of its own. */
export async function chooseDriver(config: Config, runDir: string, log: Logger): Promise<SandboxDriver | null> {
  if (config.sandboxDriver === 'none') return null
  const drivers = makeDrivers(config, runDir, log)
  if (config.sandboxDriver !== 'auto') return drivers[config.sandboxDriver]
  if ((await drivers.local.probe()).kind === 'ready') return drivers.local
  if ((await drivers.container.probe()).kind === 'ready') return drivers.container
  // Neither: the one that is easier to install says how.
  return drivers.local
}

export function makeDrivers(config: Config, runDir: string, log: Logger): Record<Named, SandboxDriver> {
  const common = {
    stateDir: join(runDir, 'sandboxes'),
    svcBinary: process.execPath,
    runtimeBinary: findRuntime(config),
    log: (message: string, facts?: Record<string, unknown>) => log.info(facts ?? {}, message),
  }
  return {
    local: createLocalDriver({ ...common, hiddenPaths: config.hiddenPaths }),
    container: createContainerDriver({ ...common, ...config.containers }),
  }
}

/** The agent runtime npm installed, or one the operator put on the path of the system. */
function findRuntime(config: Config): string {
  const architecture = process.arch === 'arm64' ? 'arm64' : 'x64'
  const candidates = [
    ...config.programDirs.map((dir) => join(dir, `opencode-linux-${architecture}`, 'bin', 'opencode')),
    '/usr/local/bin/opencode',
    '/usr/bin/opencode',
  ]
  return candidates.find((path) => existsSync(path)) ?? candidates[0]!
}
