/**
 * A git host in its own process; inside the benchmark's process its responses would compete with fifty readers. Run as a
 * program it serves the given folder, prints its URL, and answers each input line with its request count.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { serveHttpBackend } from '../../packages/git/src/testing.ts'

export interface SeparateHost {
  url: string
  /** The number of requests so far. */
  questions(): Promise<number>
  close(): Promise<void>
}

export async function startSeparateHost(dir: string): Promise<SeparateHost> {
  const child = spawn(process.execPath, [import.meta.path, dir], { stdio: ['pipe', 'pipe', 'inherit'] })
  const ended = once(child, 'exit')
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const next = async () => {
    const { value, done } = await lines.next()
    if (done === true) throw new Error('The git host of the bench ended.')
    return value
  }
  return {
    url: await next(),
    async questions() {
      child.stdin.write('\n')
      return Number(await next())
    },
    async close() {
      child.stdin.end()
      await ended
    },
  }
}

if (import.meta.main) {
  const host = await serveHttpBackend(process.argv[2]!)
  console.log(host.url)
  for await (const _ of createInterface({ input: process.stdin })) console.log(host.requests.length)
  await host.close()
}
