/** The conformance suite for a user without rights: lifecycle.test.ts runs it as that user, by `bun test` on this very file. */
import { expect, setDefaultTimeout } from 'bun:test'
import { readdirSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'

import { driverConformance } from '../conformance.ts'
import { createLocalDriver } from './driver.ts'

setDefaultTimeout(120_000)

const stateDir = process.env['SVC_TEST_STATE']!
const program = process.env['SVC_TEST_PROGRAM']!

driverConformance('local, without root', async () => {
  const relaySocket = join(stateDir, 'relay.sock')
  const relay = createServer((socket) => socket.end())
  await new Promise<void>((listening) => relay.listen(relaySocket, listening))
  const options = { stateDir, svcBinary: program, runtimeBinary: program, log: () => {}, bootMs: 90_000 }
  const driver = createLocalDriver(options)
  return {
    driver,
    relaySocket,
    env: {},
    async endItself(sandboxId) {
      const sandbox = await driver.find(sandboxId)
      await fetch('http://daemon/exit?code=7', { unix: sandbox!.daemonSocket })
    },
    close: async () => {
      for (const sandbox of await driver.list()) await driver.stop(sandbox.sandboxId)
      relay.close()
      expect(readdirSync(join(stateDir, 'run'))).toEqual([])
    },
  }
})
