/** `svc server --end-sandboxes`: ends the sandboxes that a stopped server left running. A running server ends its own. */
import { randomUUID } from 'node:crypto'
import type { Config } from '../config.ts'
import { makeLog } from '../log.ts'
import { makeDrivers } from './choose-driver.ts'
import { lockDataFolder } from './folder-lock.ts'
import { makeRunDir } from './run-dir.ts'

/** Returns how many there were. */
export async function endSandboxes(config: Config): Promise<number> {
  const log = makeLog('json', (text) => text)
  log.level = 'warn'
  const runDir = await makeRunDir(config)
  const folder = lockDataFolder(config.dataDir, randomUUID)
  let ended = 0
  for (const driver of Object.values(makeDrivers(config, runDir, log))) {
    for (const { sandboxId } of await driver.adopt()) {
      await driver.stop(sandboxId)
      ended += 1
    }
    // Removes what is left of sandboxes that ended by themselves, such as by their lease.
    await driver.sweep()
  }
  folder.release()
  return ended
}
