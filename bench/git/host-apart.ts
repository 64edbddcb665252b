/**
 * A git host in a process of its own, as one is: in the bench's, its answers would wait for fifty readers' and theirs for
 * it. Run by itself it serves the folder it is given, says where, and answers each line it reads with how many requests
 * there were.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { serveHttpBackend } from '../../packages/git/src/testing.ts'

export interface HostApart {
  url: string
  /** How many requests it had so far. */
  questions(): Promise<number>
  close(): Promise<void>
}

export async function startHostApart(dir: string): Promise<HostApart> {
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
