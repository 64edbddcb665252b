/** A sandbox as its project's svc.toml describes it, within what the operator allows. */
import { bytesOf, defaultEgress, type SandboxSettings } from '@svc/contract'
import { type ProjectImage, type Sandbox, type SandboxDriver, SandboxError, type SandboxLimits } from '@svc/sandbox'
import type { Deps } from '../deps.ts'

const byDefault = { cpuMax: 2, memoryBytesMax: 4 * 1024 ** 3, diskBytesMax: 10 * 1024 ** 3, processesMax: 1024 }

export interface NewSandbox {
  sandboxId: string
  projectId: string
  env: Record<string, string>
  /** `[sandbox]` of the default branch. */
  settings: SandboxSettings
  image: ProjectImage | null
  /** False where nothing in it has any business with the API, git or models. */
  reachesService?: boolean
}

export async function makeSandbox(
  deps: Pick<Deps, 'config' | 'egress' | 'relaySocket'>,
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
    return await driver.create(
      {
        sandboxId,
        env: { ...input.env, ...setup },
        limits: limitsOf(deps, settings),
        relaySocket: input.reachesService === false ? null : deps.relaySocket,
        egressSocket,
        image: input.image,
      },
      signal,
    )
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

/** What the project asks for, and never more than SVC_SANDBOX_*_MAX. */
export function limitsOf({ config }: Pick<Deps, 'config'>, settings: SandboxSettings): SandboxLimits {
  const max = config.sandboxMax
  return {
    cpuMax: Math.min(settings.cpu ?? byDefault.cpuMax, max.cpu),
    memoryBytesMax: Math.min(sizeOf(settings.memory) ?? byDefault.memoryBytesMax, max.memoryBytes),
    diskBytesMax: Math.min(sizeOf(settings.disk) ?? byDefault.diskBytesMax, max.diskBytes),
    processesMax: byDefault.processesMax,
  }
}

const sizeOf = (text: string | undefined): number | null => (text === undefined ? null : bytesOf(text))
