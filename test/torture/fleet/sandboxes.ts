/** What the servers' sandboxes are made of: what can happen to them, and where something of them may be left. */
import { until } from '../../e2e/harness.ts'
import { killInSandbox, killOf, isOfSandbox, type Victim } from '../sandbox-victims.ts'
import { type Process, processesInSandboxes } from '../sandbox-leaks.ts'
import type { Fleet, FleetServer } from './fleet.ts'
import { type Harm, inSandbox } from './harms.ts'
import type { Run } from './run.ts'

export const sandboxKinds = ['local', 'kubernetes'] as const
export type SandboxKind = (typeof sandboxKinds)[number]

export interface Sandboxes {
  /** Those of these sandboxes alone. */
  harms: Harm[]
  /** Settings of a server, by its number. */
  settingsOf(n: number): Record<string, string>
  /** Null when no sandbox has a process of this kind, or when it ended by itself. */
  kill(run: Run, kind: string): Promise<Victim | null>
  /** Called when the machine of a server is gone: ends what was on it. */
  endWithMachine(server: FleetServer): Promise<void>
  /** Of all sandboxes of all servers. */
  processes(fleet: Fleet): Promise<Process[]>
  /** What is there of sandboxes that ended, although their server runs. */
  strays(fleet: Fleet): Promise<string[]>
  /** What is there although the servers stopped with their sandboxes. */
  leftovers(fleet: Fleet): Promise<string[]>
  close(): Promise<void>
}

/** Of this machine: processes below a driver. */
export const localSandboxes: Sandboxes = {
  harms: [{ name: 'sandbox driver killed', do: (run) => inSandbox(run, 'driver') }],
  settingsOf: () => ({}),
  async kill({ fleet, random }, kind) {
    const { dataDir } = fleet.servers[Math.floor(random() * fleet.servers.length)]!.server
    return killInSandbox(dataDir, kind, random)
  },
  async endWithMachine(server) {
    await until('the sandboxes of the machine to end', () => {
      const left = processesOf(server).filter(isOfSandbox)
      left.forEach(killOf)
      return left.length === 0
    })
  },
  processes: async ({ servers }) => servers.flatMap(processesOf).filter(isOfSandbox),
  strays: async () => [],
  async leftovers({ servers }) {
    return servers.flatMap((each) =>
      processesOf(each).map(({ pid, command }) => `${each.name}: process ${pid} is in a sandbox: ${command}`),
    )
  },
  async close() {},
}

const processesOf = ({ server }: FleetServer): Process[] => processesInSandboxes(server.dataDir)
