/** A server for tests that kill it or run it as another user: creates one sandbox, prints it, and waits. */
import { join } from 'node:path'

import { listenAsRelay } from '../conformance/testing-sandboxes.ts'
import { createLocalDriver } from './driver.ts'

const [stateDir = '', program = '', command = '', end = '', lease = '0'] = process.argv.slice(2)
const say = (value: unknown) => process.stdout.write(`${JSON.stringify(value)}\n`)

const relaySocket = join(stateDir, 'relay', 'relay.sock')
await listenAsRelay(relaySocket)
const driver = createLocalDriver({
  stateDir,
  svcBinary: program,
  runtimeBinary: program,
  log: () => {},
  bootMs: 90_000,
  leaseSeconds: Number(lease),
})
say({ probe: await driver.probe() })
const limits = { memoryBytesMax: 256 * 1024 ** 2, cpuMax: 2, processesMax: 128, diskBytesMax: 64 * 1024 ** 2 }
const sandbox = await driver.create({ sandboxId: 'one', env: {}, limits, relaySocket }, new AbortController().signal)
if (command !== '') {
  const body = JSON.stringify({ command: ['bash', '-c', command], as: 'agent' })
  say(await (await fetch('http://daemon/run', { unix: sandbox.daemonSocket, method: 'POST', body })).json())
}
say({ ready: sandbox.daemonSocket })
if (end === 'end') {
  await driver.stop('one')
  process.exit(0)
}
