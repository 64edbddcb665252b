/** A whole server as the program starts it, except for its driver. */
import { runServer } from '../../packages/server/src/main.ts'
import { createHostedDriver } from './hosted-driver.ts'

const socket = process.argv[2]!
await runServer([], {
  rememberOwner: async () => null,
  knownSettings: async () => [],
  makeDriver: async () => createHostedDriver(socket),
})
