/**
 * A network namespace for each server, on a bridge in the namespace of this process, which has to be its own. A cut drops
 * packets in silence, as a broken cable does: the neighbor entry of the other side names a card that is not there.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { readlinkSync } from 'node:fs'
import { run, until } from '../../e2e/harness.ts'
import type { Cut, Network } from './network.ts'
import { Link } from './proxies.ts'

/** A subnet for each kind of traffic, so that each can be cut by itself. They are reserved for tests of networks. */
const subnets = { front: '198.18.0', database: '198.18.1', peers: '198.18.2', cluster: '198.18.3' } as const
/** Where servers reach the API of a cluster. */
export const clusterAddress = `${subnets.cluster}.1`
const port = 8420
const nowhere = '02:00:00:00:ff:ff'
const bridgeCard = '02:00:00:00:00:01'
const cardOf = (n: number) => `02:00:00:00:01:${String(n + 10)}`
const addressOf = (subnet: keyof typeof subnets, n: number) => `${subnets[subnet]}.${n + 10}`

export async function namespaces(count: number): Promise<Network> {
  await ip(null, [
    'link set lo up',
    'link add torture0 type bridge',
    `link set torture0 address ${bridgeCard}`,
    ...Object.values(subnets).map((subnet) => `addr add ${subnet}.1/24 dev torture0`),
    'link set torture0 up',
  ])
  const holders: ChildProcess[] = []
  process.once('exit', () => holders.forEach((holder) => holder.kill('SIGKILL')))
  const numbers = Array.from({ length: count }, (_, n) => n)
  for (const n of numbers) {
    const holder = spawn('unshare', ['--net', '--', 'sleep', 'infinity'], { stdio: 'ignore' })
    holders.push(holder)
    await until('a network namespace', () => hasOwnNetwork(holder.pid!))
    await connectHost(n, holder.pid!, numbers)
  }
  const within = (n: number) => holders[n]!.pid!
  const change = (cuts: Cut[], isCut: boolean) =>
    Promise.all(
      cuts.flatMap((cut) => entriesOf(cut, isCut)).map(([n, line]) => ip(n === null ? null : within(n), [line])),
    )
  return {
    postgres: { listen_addresses: '*' },
    reach: () => {},
    async reachCluster(path) {
      const port = await new Link(() => ({ path })).listen(clusterAddress)
      return numbers.map(() => `${clusterAddress}:${port}`)
    },
    hosts: numbers.map((n) => ({
      namespace: readlinkSync(`/proc/${within(n)}/ns/net`),
      around: ['nsenter', `--net=/proc/${within(n)}/ns/net`, '--'],
      listens: '0.0.0.0',
      frontUrl: `http://${addressOf('front', n)}:${port}`,
      peerUrl: `http://${addressOf('peers', n)}:${port}`,
      databaseUrl: `postgresql://svc@${subnets.database}.1/postgres`,
    })),
    cut: async (cuts) => void (await change(cuts, true)),
    heal: async (cuts) => void (await change(cuts, false)),
    async close() {
      for (const holder of holders) holder.kill('SIGKILL')
    },
  }
}

function hasOwnNetwork(pid: number): boolean {
  try {
    return readlinkSync(`/proc/${pid}/ns/net`) !== readlinkSync('/proc/self/ns/net')
  } catch {
    // It has not started yet.
    return false
  }
}

async function connectHost(n: number, pid: number, all: number[]): Promise<void> {
  const others = all.filter((other) => other !== n)
  await ip(null, [
    `link add torture${n + 1} type veth peer name eth0 address ${cardOf(n)} netns ${pid}`,
    `link set torture${n + 1} master torture0`,
    `link set torture${n + 1} up`,
    ...neighbor('front', n, 'torture0'),
    ...neighbor('database', n, 'torture0'),
    ...neighbor('cluster', n, 'torture0'),
  ])
  await ip(pid, [
    'link set lo up',
    ...Object.keys(subnets).map((subnet) => `addr add ${addressOf(subnet as 'front', n)}/24 dev eth0`),
    'link set eth0 up',
    ...Object.values(subnets).map((subnet) => `neigh replace ${subnet}.1 lladdr ${bridgeCard} nud permanent dev eth0`),
    ...others.flatMap((other) => neighbor('peers', other, 'eth0')),
  ])
}

function neighbor(subnet: keyof typeof subnets, n: number, device: string, card = cardOf(n)): string[] {
  return [`neigh replace ${addressOf(subnet, n)} lladdr ${card} nud permanent dev ${device}`]
}

/** The entries to change, each with the server in whose namespace it is; null is the namespace of this process. */
function entriesOf({ between: [n, other], ways }: Cut, isCut: boolean): [number | null, string][] {
  const card = (real: string) => (isCut ? nowhere : real)
  const [there, back]: [number | null, string][] =
    typeof other === 'string'
      ? [
          [n, `neigh replace ${subnets[other]}.1 lladdr ${card(bridgeCard)} nud permanent dev eth0`],
          [null, neighbor(other, n, 'torture0', card(cardOf(n)))[0]!],
        ]
      : [
          [n, neighbor('peers', other, 'eth0', card(cardOf(other)))[0]!],
          [other, neighbor('peers', n, 'eth0', card(cardOf(n)))[0]!],
        ]
  return ways === 'both' ? [there!, back!] : [there!]
}

async function ip(pid: number | null, lines: string[]): Promise<void> {
  const around = pid === null ? [] : ['nsenter', `--net=/proc/${pid}/ns/net`, '--']
  const ran = await run([...around, 'ip', '-batch', '-'], { input: `${lines.join('\n')}\n` })
  if (ran.code !== 0) throw new Error(`ip ${lines.join('; ')}: ${ran.stderr}`)
}

/** Whether this user may make network namespaces that leave the rest of the machine alone. */
export async function canUnshare(): Promise<boolean> {
  try {
    const ran = await run(['unshare', '--net', '--', 'ip', 'link', 'add', 'probe0', 'type', 'bridge'])
    return ran.code === 0
  } catch {
    // One of these programs is not installed.
    return false
  }
}
