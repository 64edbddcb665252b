/** Chooses the driver that makes this server's sandboxes. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { randomBytes, randomUUID } from 'node:crypto'
import {
  createContainerDriver,
  createKubernetesDriver,
  createLocalDriver,
  type ProbeOutcome,
  type SandboxDriver,
} from '@svc/sandbox'
import type { Logger } from 'pino'
import type { Config } from '../config.ts'
import { readFolderId } from './folder-lock.ts'

type Named = Exclude<Config['sandboxDriver'], 'auto' | 'none'>

/** `auto` takes the first that works, bubblewrap before containers: it starts in a fifth of the time and maps every sandbox to ids of its own. */
export async function chooseDriver(
  config: Config,
  runDir: string,
  log: Logger,
  linkSeed: Buffer | null = null,
): Promise<SandboxDriver | null> {
  if (config.sandboxDriver === 'none') return null
  const drivers = makeDrivers(config, runDir, log, linkSeed)
  if (config.sandboxDriver !== 'auto') return drivers[config.sandboxDriver] ?? null
  if ((await drivers.local.probe()).kind === 'ready') return drivers.local
  if ((await drivers.container.probe()).kind === 'ready') return drivers.container
  // Neither works: report the problem of the one that is easier to install.
  return drivers.local
}

type Drivers = Record<'local' | 'container', SandboxDriver> & { kubernetes?: SandboxDriver }

/**
 * Every driver that this server could use; a cluster only where it is configured to. `linkSeed` proves to the sandboxes of
 * a cluster who their server is: without it they can be found and ended, but not used.
 */
export function makeDrivers(config: Config, runDir: string, log: Logger, linkSeed: Buffer | null = null): Drivers {
  const common = {
    stateDir: join(runDir, 'sandboxes'),
    svcBinary: process.execPath,
    runtimeBinary: findRuntime(config),
    leaseSeconds: config.sandboxLeaseSeconds,
    log: (message: string, facts?: Record<string, unknown>) => log.info(facts ?? {}, message),
  }
  return {
    local: createLocalDriver({ ...common, hiddenPaths: config.hiddenPaths }),
    container: createContainerDriver({ ...common, ...config.containers }),
    ...(config.sandboxDriver === 'kubernetes'
      ? { kubernetes: kubernetesDriver(config, common, linkSeed ?? randomBytes(32)) }
      : {}),
  }
}

function kubernetesDriver(
  { kubernetes: { kubeconfig, service, ...settings }, dataDir }: Config,
  common: { stateDir: string; leaseSeconds: number; log: (message: string, facts?: Record<string, unknown>) => void },
  seed: Buffer,
): SandboxDriver {
  const owner = readFolderId(dataDir) ?? randomUUID()
  return createKubernetesDriver({ ...common, ...settings, access: { kubeconfig, service }, owner, seed })
}

type Missing = Extract<ProbeOutcome, { kind: 'missing' }>

/** Lines for an operator whose machine supports no driver: what each one needs, and how to get it. */
export function driverAdvice(
  found: Partial<Record<Named, Missing>>,
  { command, platform = process.platform }: { command: string; platform?: NodeJS.Platform },
): string[] {
  if (platform !== 'linux')
    return [
      `  Sessions cannot start: sandboxes need Linux, and this is ${platform === 'darwin' ? 'macOS' : platform}.`,
      '  Run the server in a Linux virtual machine with bubblewrap or Docker in it:',
      ...(platform === 'darwin' ? ['      brew install lima && limactl start && limactl shell default'] : []),
      '  Until then everything except sessions works here.',
    ]
  const needs = Object.entries(found).flatMap(([name, { problem, install }]) => [
    `    ${names[name as Named]} (SVC_SANDBOX_DRIVER=${name}): ${problem}`,
    ...(install === null ? [] : [`      Install it with: ${install}`]),
  ])
  const several = Object.keys(found).length > 1
  return [
    `  Sessions cannot start yet: ${several ? 'no sandbox driver works on this machine. One of these is enough:' : 'the sandbox driver does not work on this machine.'}`,
    ...needs,
    `  Then start the server again. To check this machine: ${command} self-host doctor`,
  ]
}

const names: Record<Named, string> = { local: 'bubblewrap', container: 'Docker or Podman', kubernetes: 'Kubernetes' }

/** The drivers this server may use, all of which fail their probe. */
export async function missingDrivers(
  config: Config,
  runDir: string,
  log: Logger,
): Promise<Partial<Record<Named, Missing>>> {
  const drivers = makeDrivers(config, runDir, log)
  const wanted = config.sandboxDriver === 'auto' ? (['local', 'container'] as const) : [config.sandboxDriver as Named]
  const found: Partial<Record<Named, Missing>> = {}
  for (const name of wanted) {
    const outcome = await drivers[name]?.probe()
    if (outcome?.kind === 'missing') found[name] = outcome
  }
  return found
}

/** The agent runtime installed by npm, or one on the system's path. */
export function findRuntime(config: Config): string {
  const architecture = process.arch === 'arm64' ? 'arm64' : 'x64'
  const candidates = [
    ...config.programDirs.map((dir) => join(dir, `opencode-linux-${architecture}`, 'bin', 'opencode')),
    '/usr/local/bin/opencode',
    '/usr/bin/opencode',
  ]
  return candidates.find((path) => existsSync(path)) ?? candidates[0]!
}
