/** The driver of a server whose sandboxes are in a process beside it. They outlive the server, as real ones do. */
import type { Sandbox, SandboxDriver } from '../../packages/sandbox/src/index.ts'
import { askHost } from './sandbox-host.ts'

export function createHostedDriver(socket: string): SandboxDriver {
  const live = new Map<string, Sandbox>()
  return {
    name: 'fake',
    outlives: true,
    isElsewhere: true,
    probe: async () => ({ kind: 'ready', warnings: [], missingLimits: [] }),
    examine: async () => [],
    async create(spec) {
      const sandbox = await askHost<Sandbox>(socket, '/create', spec)
      live.set(sandbox.sandboxId, sandbox)
      return sandbox
    },
    // As the real drivers, it knows its sandboxes without asking anyone.
    find: async (sandboxId) => live.get(sandboxId) ?? null,
    list: async () => [...live.values()],
    async stop(sandboxId) {
      if (live.delete(sandboxId)) await askHost(socket, '/stop', sandboxId)
    },
    memoryTrouble: async () => null,
    onExit: () => () => {},
    async adopt() {
      for (const sandbox of await askHost<Sandbox[]>(socket, '/list', {})) live.set(sandbox.sandboxId, sandbox)
      return [...live.values()]
    },
    sweep: async () => {},
  }
}
