/**
 * `npm run torture -- syscalls [--kills N]` sends SIGKILL at the Nth system call of a kind, in the server or any of its git
 * processes.
 */
import { spawn } from 'node:child_process'
import { setTimeout as delay } from 'node:timers/promises'
import { check } from './check.ts'
import { startClients } from './kills.ts'
import { randomFrom } from './random.ts'
import { conclude, flags, withServers } from './run.ts'
import { repositoryKinds, type World } from './world.ts'

/** Each kind with the number of calls after which the server is almost certainly dead. */
const kinds = { write: 40, rename: 3, connect: 4, sendto: 60, fdatasync: 3, openat: 40, fsync: 3, unlink: 6 }
/** A call that has not happened by then will not happen, so the server is killed anyway. */
const lifeMsMax = 4_000

const { kills, seed } = flags({ kills: 200, seed: 1 })

if (Bun.which('strace') === null) {
  console.log('skipped: there is no strace on this machine')
  process.exit(0)
}

const random = randomFrom(seed)
const report: Record<string, { server: number; git: number; neither: number }> = {}
const findings = await withServers({ kinds: repositoryKinds }, async (world) => {
  const enough = new AbortController()
  const clients = startClients(world, { perProject: 2, enough: enough.signal, random })
  const work = async () => {
    const names = Object.keys(kinds) as (keyof typeof kinds)[]
    for (let n = 0; n < kills; n++) {
      const kind = names[n % names.length]!
      await live(world, kind, 1 + Math.floor(random() * kinds[kind]))
      if (n % 25 === 24) console.log(`${n + 1} lives, ${(performance.now() / 1000).toFixed(1)} s`)
    }
    await world.server.start()
    enough.abort()
  }
  await Promise.all([work(), clients])
  const { violations, ...did } = await check(world)
  return { ...did, problems: violations }
})
console.table(report)
console.log(`${findings.merged} merged, ${findings.acknowledged} acknowledged, ${findings.abandoned} attempts given up`)
conclude(findings.problems, 'violations')

/** strace counts per thread and process, so either the server or one of its git processes dies. */
async function live(world: World, kind: keyof typeof kinds, when: number): Promise<void> {
  const { server } = world
  if (server.isRunning) await server.kill()
  await server.start()
  const inject = ['-f', '-q', '-e', `trace=${kind}`, '-e', 'signal=none']
  const tracer = spawn(
    'strace',
    [...inject, '-e', `inject=${kind}:signal=SIGKILL:when=${when}`, '-p', String(server.pid)],
    { stdio: ['ignore', 'ignore', 'pipe'] },
  )
  let said = ''
  // A git process may have died long before the end, so keep the whole trace.
  tracer.stderr.on('data', (chunk: Buffer) => (said += chunk.toString()))
  const ended = new Promise<void>((resolve) => tracer.once('close', () => resolve()))
  const died = await Promise.race([server.exited.then(() => true), delay(random() * lifeMsMax, false)])
  await server.kill()
  tracer.kill('SIGTERM')
  await ended
  const counts = (report[kind] ??= { server: 0, git: 0, neither: 0 })
  counts[died ? 'server' : said.includes('killed by SIGKILL') ? 'git' : 'neither']++
  world.history.write({ kind: 'life', failpoints: `${kind}@${when}`, readyMs: server.readyMs.at(-1) ?? null, end: '' })
}
