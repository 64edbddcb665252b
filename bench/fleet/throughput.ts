/** Requests one after another from many clients, with the processor time that servers and database take for each. */
import type { Fleet } from './servers.ts'

export interface Throughput {
  count: number
  perSecond: number
  /** Per request, of all servers with their git processes. */
  serverMs: number
  postgresMs: number
}

const clients = 12

/** Runs `request` until `isOver`, from several clients at once. */
export async function throughput(
  fleet: Fleet,
  isOver: (count: number, seconds: number) => boolean,
  request: (index: number) => Promise<unknown>,
): Promise<Throughput> {
  const before = fleet.processorMs()
  const began = performance.now()
  const seconds = () => (performance.now() - began) / 1000
  let begun = 0
  const client = async () => {
    while (!isOver(begun, seconds())) await request(begun++)
  }
  await Promise.all(Array.from({ length: clients }, client))
  return measured(fleet, { before, count: begun, seconds: seconds() })
}

export function measured(
  fleet: Fleet,
  { before, count, seconds }: { before: ReturnType<Fleet['processorMs']>; count: number; seconds: number },
): Throughput {
  const after = fleet.processorMs()
  const each = (name: keyof typeof after) => (after[name] - before[name]) / count
  return { count, perSecond: count / seconds, serverMs: each('servers'), postgresMs: each('postgres') }
}

export function printThroughput(title: string, lines: [string, Throughput][]): void {
  console.log(`\n${title}`)
  console.log(`${'what'.padEnd(44)}a second  CPU ms each: servers  PostgreSQL`)
  for (const [what, { perSecond, serverMs, postgresMs }] of lines)
    console.log(
      `${what.padEnd(44)}${perSecond.toFixed(0).padStart(8)}${serverMs.toFixed(2).padStart(22)}${postgresMs.toFixed(2).padStart(12)}`,
    )
}
