/**
 * `npm run torture -- fleet [--rounds N] [--minutes N] [--seed N] [--only "name, name"]`: three servers behind a balancer, one
 * PostgreSQL, and real sandboxes are killed, paused and cut from each other while clients work. `--network proxies` does without
 * network namespaces, as does a user who may not make them. `--sandboxes kubernetes` makes a cluster of one node for the sandboxes.
 */
import { spawn } from 'node:child_process'
import { makeFleet } from './fleet/fleet.ts'
import { canUnshare, namespaces } from './fleet/namespaces.ts'
import { proxies } from './fleet/proxies.ts'
import { tortureFleet } from './fleet/rounds.ts'
import { sandboxKinds } from './fleet/sandboxes.ts'
import { randomFrom } from './random.ts'
import { conclude, flags } from './run.ts'

const { rounds, minutes, seed, only, brief, network, sandboxes } = flags({
  ...{ rounds: 300, minutes: 600, seed: Date.now() % 1_000_000, only: '', brief: false, network: '' },
  sandboxes: 'local',
})
const kind = sandboxKinds.find((one) => one === sandboxes)
if (kind === undefined) throw new Error(`--sandboxes is one of ${sandboxKinds.join(', ')}.`)
if (network === '' && (await canUnshare())) await inItsOwnNetwork()
// Ends what the run started, which its end by a signal would leave.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => process.exit(1))
console.log(`seed ${seed}`)
const isApart = network === 'namespaces'
console.log(isApart ? 'each server has a network of its own' : 'the servers reach each other over proxies')
const fleet = await makeFleet(await (isApart ? namespaces(3) : proxies(3)), kind)
let keep = true
const report = await tortureFleet(fleet, {
  ...{ rounds, minutes, random: randomFrom(seed), isBrief: brief },
  only: only
    .split(',')
    .map((name) => name.trim())
    .filter(Boolean),
  say: (line) => console.log(line),
})
  .then((done) => {
    keep = done.problems.length > 0
    return done
  })
  .finally(() => fleet.close({ keep }))
console.log(JSON.stringify(report.did, null, 2))
conclude(report.problems)

/** The bridge and the addresses of the run are visible to nothing else, and end with it. */
async function inItsOwnNetwork(): Promise<never> {
  const command = ['--net', '--', process.execPath, ...process.argv.slice(1), '--network', 'namespaces']
  const child = spawn('unshare', command, { stdio: 'inherit' })
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => child.kill(signal))
  const [code] = await new Promise<[number | null]>((resolve) => child.once('exit', (...ended) => resolve([ended[0]])))
  process.exit(code ?? 1)
}
