/** The log of a server whose disk is full for a while. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdtemp, open, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { SmallDisk } from './testing-small-disk.ts'

setDefaultTimeout(60_000)

let dir: string
let disk: SmallDisk | null = null
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'svc-full-log-'))
  disk = await SmallDisk.mount(join(dir, 'disk'), '1m')
})
afterAll(async () => {
  disk?.unmount()
  await rm(dir, { recursive: true, force: true })
})

/** Writes a line of the log for each line of its input. */
const program = `
const { writerTo } = await import(${JSON.stringify(join(import.meta.dir, 'log-file.ts'))})
const write = writerTo({ path: '', bytesMax: Infinity, onFailed() {}, onLost: (lines) => write('lost ' + lines + '\\n') })
for await (const line of console) if (line !== '') { write(line + '\\n'); await Bun.sleep(0); console.log('wrote') }`

test('a full disk costs lines of the log and not the server, and the log says how many', async () => {
  if (disk === null) return
  const path = join(disk.path, 'server.log')
  const log = await open(path, 'a')
  const child = Bun.spawn([process.execPath, '--eval', program], { stdin: 'pipe', stdout: 'pipe', stderr: log.fd })
  const answers = child.stdout.getReader()
  const say = async (line: string) => {
    child.stdin.write(`${line}\n`)
    await child.stdin.flush()
    expect((await answers.read()).done).toBe(false)
  }
  try {
    await say('before')
    await disk.fill()
    // The last block of the log has room for the first of them.
    for (let at = 0; at < 3; at++) await say('x'.repeat(4096))
    await rm(disk.filler)
    await say('after')
    child.stdin.end()
    expect(await child.exited).toBe(0)
    const lines = (await readFile(path, 'utf8')).split('\n').filter((line) => !/^x*$/.test(line))
    expect(lines).toEqual(['before', 'after', expect.stringMatching(/^lost [23]$/)])
  } finally {
    child.kill('SIGKILL')
    await log.close()
  }
})
