/** A server for tests that kill it or run it as another user: creates one sandbox, prints it, and waits. */
import { createServer } from 'node:net'
import { join } from 'node:path'

import { createLocalDriver } from './driver.ts'

const [stateDir = '', program = '', command = ''] = process.argv.slice(2)
const say = (value: unknown) => process.stdout.write(`${JSON.stringify(value)}\n`)

const relaySocket = join(stateDir, 'relay.sock')
const relay = createServer((socket) => socket.end())
await new Promise<void>((listening) => relay.listen(relaySocket, listening))
const driver = createLocalDriver({
  stateDir,
  svcBinary: program,
  runtimeBinary: program,
  log: () => {},
  bootMs: 90_000,
})
say({ probe: await driver.probe() })
const limits = { memoryBytesMax: 256 * 1024 ** 2, cpuMax: 2, processesMax: 128, diskBytesMax: 64 * 1024 ** 2 }
const sandbox = await driver.create({ sandboxId: 'one', env: {}, limits, relaySocket }, new AbortController().signal)
if (command !== '') {
  const body = JSON.stringify({ command: ['bash', '-c', command], as: 'agent' })
  say(await (await fetch('http://daemon/run', { unix: sandbox.daemonSocket, method: 'POST', body })).json())
}
say({ ready: sandbox.daemonSocket })
if (process.argv[5] === 'end') {
  await driver.stop('one')
  process.exit(0)
}
