import type { SandboxDriver } from '@svc/sandbox'
import type { Redaction } from './redaction.ts'

/** A driver after whose stop the keys of that sandbox are looked for no more: they ended with it. */
export function forgettingKeys(driver: SandboxDriver, redaction: Redaction): SandboxDriver {
  return {
    ...driver,
    async stop(sandboxId) {
      await driver.stop(sandboxId)
      redaction.sandboxEnds(sandboxId)
    },
  }
}
