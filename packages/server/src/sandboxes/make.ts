/** Creates a sandbox with the settings of svc.toml, within the limits of the operator. */
import { bytesOf, defaultEgress, type SandboxSettings } from '@svc/contract'
import { type ProjectImage, type Sandbox, type SandboxDriver, SandboxError, type SandboxLimits } from '@svc/sandbox'
import type { Deps } from '../deps.ts'

const byDefault = { cpuMax: 2, memoryBytesMax: 4 * 1024 ** 3, diskBytesMax: 10 * 1024 ** 3, processesMax: 1024 }

interface NewSandbox {
  sandboxId: string
  projectId: string
  env: Record<string, string>
  settings: SandboxSettings
  image: ProjectImage | null
  /** False: the sandbox cannot reach the API, git or models. */
  reachesService?: boolean
}

export async function makeSandbox(
  deps: Pick<Deps, 'config' | 'egress' | 'relaySocket' | 'tracing'>,
  driver: SandboxDriver,
  input: NewSandbox,
  signal: AbortSignal,
): Promise<Sandbox> {
  await requireIsolation(driver)
  const { sandboxId, settings } = input
  const patterns = settings.egress ?? defaultEgress
  const egressSocket = await deps.egress.open(sandboxId, patterns, { project_id: input.projectId })
  const setup: Record<string, string> = settings.setup === undefined ? {} : { SVC_SANDBOX_SETUP: settings.setup }
  try {
    const spec = {
      sandboxId,
      env: { ...input.env, ...setup },
      limits: limitsOf(deps, settings),
      relaySocket: input.reachesService === false ? null : deps.relaySocket,
      egressSocket,
      image: input.image,
    }
    const attributes = { 'svc.project_id': input.projectId, 'svc.sandbox_driver': driver.name }
    return await deps.tracing.span('make sandbox', { attributes }, () => driver.create(spec, signal))
  } catch (error) {
    await deps.egress.close(sandboxId)
    throw error
  }
}

async function requireIsolation(driver: SandboxDriver): Promise<void> {
  const probe = await driver.probe()
  if (probe.kind === 'missing')
    throw new SandboxError('no-isolation', probe.problem, probe.install === null ? {} : { hint: probe.install })
}

/** The limits of svc.toml, capped by SVC_SANDBOX_*_MAX. */
function limitsOf({ config }: Pick<Deps, 'config'>, settings: SandboxSettings): SandboxLimits {
  const max = config.sandboxMax
  return {
    cpuMax: Math.min(settings.cpu ?? byDefault.cpuMax, max.cpu),
    memoryBytesMax: Math.min(sizeOf(settings.memory) ?? byDefault.memoryBytesMax, max.memoryBytes),
    diskBytesMax: Math.min(sizeOf(settings.disk) ?? byDefault.diskBytesMax, max.diskBytes),
    processesMax: byDefault.processesMax,
  }
}

const sizeOf = (text: string | undefined): number | null => (text === undefined ? null : bytesOf(text))
