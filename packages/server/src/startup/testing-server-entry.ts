/** A server that remembers no owner: `server <flags>`, or `fake-sandboxes <flags>` with sandboxes of the fake driver. */
import { runServer } from '../main.ts'

const [kind, ...flags] = process.argv.slice(2)
await runServer(flags, {
  rememberOwner: async () => null,
  knownSettings: async () => [],
  ...(kind === 'fake-sandboxes'
    ? { makeDriver: async () => (await import('@svc/sandbox/testing')).createFakeDriver() }
    : {}),
})
