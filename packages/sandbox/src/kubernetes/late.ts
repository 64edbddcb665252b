/**
 * A cluster may not answer when the server starts, while the sandboxes of the earlier server go on in it. They are adopted
 * once it answers. Until then nothing says that they are gone, so asking for one fails, and is tried again later.
 */
import { type Sandbox, type SandboxDriver, SandboxError } from '../driver.ts'

type Shared = Pick<SandboxDriver, 'create' | 'adopt' | 'find' | 'stop' | 'sweep'>

interface Options {
  /** `refused`: this server may not use the cluster, which waiting does not change. */
  reach(): Promise<'yes' | 'no' | 'refused'>
  /** After that no sandbox goes on: 0 when none outlives its server. */
  leaseMs: number
  log: (message: string, facts?: Record<string, unknown>) => void
  firstMs?: number
  againMs?: number
}

/** A start of the server waits this long for the cluster. */
const firstMsMost = 10_000

export function adoptLate(shared: Shared, options: Options): Shared {
  const { reach, leaseMs, log, firstMs = firstMsMost, againMs = 2_000 } = options
  let isUnknown = false
  /** Those that this server made are known. */
  const made = new Set<string>()

  async function reachIn(ms: number): Promise<'yes' | 'no' | 'refused'> {
    const late = Promise.withResolvers<'no'>()
    const timer = setTimeout(() => late.resolve('no'), ms)
    const reached = await Promise.race([reach(), late.promise])
    clearTimeout(timer)
    return reached
  }

  function notYet(error: unknown): null {
    log('the sandboxes of the earlier server cannot be listed yet', { error: String(error) })
    return null
  }

  /** A cluster that answers one question may still fail at the next, as while its database elects a leader. */
  async function adoptOnceReached(): Promise<void> {
    const deadline = performance.now() + leaseMs
    let adopted: Sandbox[] | null = null
    while (adopted === null) {
      const isLast = performance.now() > deadline
      if (isLast || (await reach()) !== 'no') adopted = await shared.adopt().catch(isLast ? fail : notYet)
      if (adopted === null) await new Promise<void>((again) => setTimeout(again, againMs).unref())
    }
    isUnknown = false
    log('sandboxes of the earlier server go on with this one', { sandboxes: adopted.length })
    await shared.sweep()
  }

  function requireKnown(sandboxId: string): void {
    if (isUnknown && !made.has(sandboxId))
      throw new SandboxError('unreached', 'The cluster does not answer, so nothing says whether the sandbox goes on.')
  }

  return {
    create(spec, signal) {
      made.add(spec.sandboxId)
      return shared.create(spec, signal)
    },
    async adopt(): Promise<Sandbox[]> {
      const reached = leaseMs === 0 ? 'refused' : await reachIn(firstMs)
      if (reached === 'refused') return shared.adopt()
      const adopted = reached === 'yes' ? await shared.adopt().catch(notYet) : null
      if (adopted !== null) return adopted
      isUnknown = true
      log('the cluster does not answer; the sandboxes of the earlier server are adopted once it does')
      adoptOnceReached().catch((error: unknown) => {
        isUnknown = false
        log('the sandboxes of the earlier server could not be adopted', { error: String(error) })
      })
      return []
    },
    async find(sandboxId) {
      const found = await shared.find(sandboxId)
      if (found === null) requireKnown(sandboxId)
      return found
    },
    async stop(sandboxId) {
      requireKnown(sandboxId)
      await shared.stop(sandboxId)
      made.delete(sandboxId)
    },
    async sweep() {
      if (!isUnknown) await shared.sweep()
    },
  }
}
function fail(error: unknown): never {
  throw error
}
