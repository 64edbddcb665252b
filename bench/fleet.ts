/**
 * Several servers on one database: the hop of a forwarded request, and reads, merges and session starts on one, two and
 * three of them. Servers and clients share the cores of one machine, so processor time per request is the figure that
 * compares.
 */
import { startBalancer } from '../test/e2e/balancer.ts'
import { until } from '../test/e2e/harness.ts'
import { replicaFigures } from './fleet/copies.ts'
import { type FleetProject, makeProjects } from './fleet/projects.ts'
import { Fleet, type FleetServer } from './fleet/servers.ts'
import { measured, printThroughput, throughput } from './fleet/throughput.ts'
import { compare, type Figure, printFigures, rounds } from './report/figures.ts'

const parts = (process.env.BENCH_PARTS ?? 'hop,requests,starts,copies').split(',')
const counts = (process.env.BENCH_SERVERS ?? '1,2,3').split(',').map(Number)
const seconds = Number(process.env.BENCH_SECONDS ?? 6)
const merges = Number(process.env.BENCH_MERGES ?? 120)
const starts = Number(process.env.BENCH_STARTS ?? 60)
/** The same on any number of servers, which spread them: requests about one project share their work. */
const projectCount = 6
/** A server that has just started still interprets what it compiles later. */
const warmUp = { reads: 3_000, merges: 40, starts: 20 }
const promised = { read: 1.3, healthMs: 2, copied: 1.5 }

if (parts.includes('hop')) await withFleet(2, { sandboxes: 'hosted' }, hop)
if (parts.includes('requests')) for (const count of counts) await withFleet(count, { sandboxes: 'none' }, requests)
if (parts.includes('starts')) for (const count of counts) await withFleet(count, { sandboxes: 'hosted' }, sessionStarts)
if (parts.includes('copies')) await copies()

async function withFleet(
  count: number,
  options: { sandboxes: 'none' | 'hosted'; settings?: Record<string, string> },
  work: (fleet: Fleet) => Promise<void>,
): Promise<void> {
  const fleet = await Fleet.make(count, options.sandboxes, options.settings)
  try {
    for (const server of fleet.servers) await server.boot()
    await work(fleet)
  } finally {
    await fleet.end()
  }
}

function elsewhere(fleet: Fleet, { home }: FleetProject): FleetServer {
  return fleet.servers.find((server) => server !== home) ?? home
}

/** The same request at the home and at another server, alternately. */
async function hop(fleet: Fleet): Promise<void> {
  const [project] = (await makeProjects(fleet, { count: 2, changeRequests: 20 })) as [FleetProject]
  const [home, other] = [project.home, elsewhere(fleet, project)]
  const [change] = project.open as [string]
  const read = (server: FleetServer, path: string) => () => server.send('GET', path)
  for (let n = 0; n < warmUp.reads; n++) await (n % 2 === 0 ? home : other).send('GET', change)
  const health = `/v1/sandboxes/${await runningSandbox(fleet, project)}/svc/health`
  const balancer = await startBalancer()
  balancer.servers = [home.url, other.url]
  const many = rounds(600)
  const direct = 'the same at the home'
  const figures: Figure[] = [
    await compare('read of an open change request, forwarded', many, {
      floor: [direct, read(home, change)],
      ours: read(other, change),
    }),
    await compare('its merge preview, forwarded', many, {
      floor: [direct, read(home, `${change}/merge-preview`)],
      ours: read(other, `${change}/merge-preview`),
    }),
    await compare('health of a sandbox, forwarded', many, {
      floor: [direct, read(home, health)],
      ours: read(other, health),
    }),
    await compare('health of the server, through a balancer', many, {
      floor: ['the same without it', read(home, '/v1/health')],
      ours: async () => void (await (await fetch(`${balancer.url}/v1/health`)).text()),
    }),
  ]
  await balancer.close()
  printFigures('A request at a server that is not the home', figures)
  const [forwarded, , ofSandbox, ofServer] = figures as [Figure, Figure, Figure, Figure]
  const more = ({ ms, floorMs }: Figure) => `${(ms - floorMs!).toFixed(2)} ms more of ${promised.healthMs} ms`
  console.log(`\nForwarded read: ${(forwarded.ms / forwarded.floorMs!).toFixed(2)} x of ${promised.read} x`)
  console.log(`Health of a sandbox, forwarded: ${more(ofSandbox)}`)
  console.log(`Health of the server, through a balancer: ${more(ofServer)}`)
}

async function runningSandbox(fleet: Fleet, { id, home }: FleetProject): Promise<string> {
  await home.send('POST', `/v1/projects/${id}/sessions`, {})
  await until('the session to run', async () => (await countRunning(fleet)) > 0)
  const [row] = await fleet.rows<{ sandbox_id: string }>('select sandbox_id from session_sandboxes')
  return row!.sandbox_id
}

async function countRunning(fleet: Fleet): Promise<number> {
  const [row] = await fleet.rows<{ count: string }>(`select count(*) from project_sessions where status = 'running'`)
  return Number(row!.count)
}

async function requests(fleet: Fleet): Promise<void> {
  const { servers } = fleet
  const readable = 10
  const merged = servers.length * warmUp.merges + 2 * merges
  const projects = await makeProjects(fleet, {
    count: projectCount,
    changeRequests: readable + Math.ceil(merged / projectCount),
  })
  const place = (index: number) => projects[index % projects.length]!
  const changeOf = (index: number) => place(index).open[Math.floor(index / projects.length) % readable]!
  // Independent of the home, as a balancer that knows none.
  const any = (index: number) => servers[Math.floor(index / projects.length) % servers.length]!
  const home = (index: number) => place(index).home
  const read = (at: typeof any) => (index: number) => at(index).send('GET', changeOf(index))
  const merge = (at: typeof any) => (index: number) => at(index).send('POST', `${place(index).open.pop()!}/merge`)
  await throughput(fleet, (count) => count >= servers.length * warmUp.reads, read(any))
  const reads = (at: typeof any) => throughput(fleet, (_, passed) => passed >= seconds, read(at))
  const lines: [string, Awaited<ReturnType<typeof reads>>][] = [['reads at the home', await reads(home)]]
  if (servers.length > 1) lines.push(['reads at any server', await reads(any)])
  await throughput(fleet, (count) => count >= servers.length * warmUp.merges, merge(any))
  const all = (at: typeof any) => throughput(fleet, (count) => count >= merges, merge(at))
  lines.push(['merges at the home', await all(home)])
  if (servers.length > 1) lines.push(['merges at any server', await all(any)])
  printThroughput(`On ${servers.length} servers`, lines)
}

/** With sandboxes that start at once: the time of a real one is its runtime's. */
async function sessionStarts(fleet: Fleet): Promise<void> {
  const { servers } = fleet
  const projects = await makeProjects(fleet, { count: projectCount, changeRequests: 1 })
  const startMany = async (count: number) => {
    const before = fleet.processorMs()
    const running = await countRunning(fleet)
    const began = performance.now()
    await throughput(
      fleet,
      (begun) => begun >= count,
      (index) =>
        servers[Math.floor(index / projects.length) % servers.length]!.send(
          'POST',
          `/v1/projects/${projects[index % projects.length]!.id}/sessions`,
          {},
        ),
    )
    await until('every session to run', async () => (await countRunning(fleet)) >= running + count)
    return measured(fleet, { before, count, seconds: (performance.now() - began) / 1000 })
  }
  await startMany(servers.length * warmUp.starts)
  printThroughput(`On ${servers.length} servers`, [['session starts at any server', await startMany(starts)]])
}

/** A merge and a push that wait until another server has their objects, beside those that do not. */
async function copies(): Promise<void> {
  const figures = await replicaFigures(rounds(30))
  printFigures('A copy of the repository on another server', figures)
  const [merge] = figures
  console.log(`\n${(merge!.ms / merge!.floorMs!).toFixed(2)} x of ${promised.copied} x`)
}
