/** `svc server --end-sandboxes`: ends the sandboxes that a stopped server left running. Refuses nothing: a running server ends its own. */
import type { Config } from '../config.ts'
import { makeLog } from '../log.ts'
import { makeDrivers } from './choose-driver.ts'
import { makeRunDir } from './run-dir.ts'

/** Returns how many there were. */
export async function endSandboxes(config: Config): Promise<number> {
  const log = makeLog('json', (text) => text)
  log.level = 'warn'
  let ended = 0
  for (const driver of Object.values(makeDrivers(config, await makeRunDir(config), log)))
    for (const { sandboxId } of await driver.adopt()) {
      await driver.stop(sandboxId)
      ended += 1
    }
  return ended
}
