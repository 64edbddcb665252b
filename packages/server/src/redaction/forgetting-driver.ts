import type { SandboxDriver } from '@svc/sandbox'
import type { Redaction } from './redaction.ts'

/** Forgets the keys of a sandbox when it stops, because they expire with it. */
export function withKeyCleanup(driver: SandboxDriver, redaction: Redaction): SandboxDriver {
  return {
    ...driver,
    async stop(sandboxId) {
      await driver.stop(sandboxId)
      redaction.sandboxEnds(sandboxId)
    },
  }
}
