/** Starts, uses and kills several servers repeatedly and independently. */
import { setTimeout as delay } from 'node:timers/promises'
import type { TortureServer } from './server.ts'

export interface Kills {
  total: number
  atRandom: number
  /** By the failpoint at which a server died. */
  atPoint: Record<string, number>
}

export function keepKilling(
  servers: TortureServer[],
  options: {
    random: () => number
    points: string[]
    over: AbortSignal
    start?: Parameters<TortureServer['start']>[0]
    /** Stops after this many deaths; without it, never. */
    killsMax?: number | undefined
    /** How long a server runs before it is killed. */
    lifeMs?: { min: number; max: number } | undefined
  },
): { kills: Kills; ended: Promise<void>; failed: Promise<never> } {
  const kills: Kills = { total: 0, atRandom: 0, atPoint: {} }
  const { random, over } = options
  const { min, max } = options.lifeMs ?? { min: 3_000, max: 20_000 }
  const waiting: string[] = []
  let begun = 0
  const live = async (server: TortureServer) => {
    while (!over.aborted && begun < (options.killsMax ?? Number.POSITIVE_INFINITY)) {
      begun++
      if (waiting.length === 0) waiting.push(...options.points)
      const point = random() < 0.6 ? waiting.splice(Math.floor(random() * waiting.length), 1)[0]! : null
      const failpoints = point === null ? {} : { failpoints: `${point}=kill@${1 + Math.floor(random() * 8)}` }
      if (!server.isRunning) await server.start({ ...options.start, ...failpoints })
      await Promise.race([server.exited, delay(min + random() * (max - min), null, { signal: over }).catch(() => null)])
      if (over.aborted) break
      if (!server.isRunning && point !== null) kills.atPoint[point] = (kills.atPoint[point] ?? 0) + 1
      else kills.atRandom++
      kills.total++
      await server.kill()
    }
    // A server whose failpoint is still ahead would die during the final checks.
    if (server.isRunning) await server.kill()
    if (!over.aborted) await server.start(options.start)
  }
  const ended = Promise.all(servers.map(live)).then(() => {})
  return { kills, ended, failed: ended.then(() => new Promise<never>(() => {})) }
}
