/** The conformance suite for an unprivileged user: lifecycle.test.ts runs this file as that user with `bun test`. */
import { expect, setDefaultTimeout } from 'bun:test'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'

import { driverConformance } from '../conformance/conformance.ts'
import { listenAsRelay, underTest } from '../conformance/testing-sandboxes.ts'
import { createLocalDriver } from './driver.ts'

setDefaultTimeout(120_000)

const stateDir = process.env['SVC_TEST_STATE']!
const program = process.env['SVC_TEST_PROGRAM']!

driverConformance('local, without root', async () => {
  const relaySocket = join(stateDir, 'relay', 'relay.sock')
  const relay = await listenAsRelay(relaySocket)
  const options = { stateDir, svcBinary: program, runtimeBinary: program, log: () => {}, bootMs: 90_000 }
  return underTest(createLocalDriver(options), relaySocket, () => {
    relay.close()
    expect(readdirSync(join(stateDir, 'run'))).toEqual([])
  })
})
