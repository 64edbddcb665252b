/** The log of a server whose disk is full for a while, and of one whose shell does not append to it. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { type FileHandle, mkdtemp, open, readdir, readFile, rm } from 'node:fs/promises'
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

/** The same with a limit, and says each time that the log could not be rotated. */
const limited = (path: string) =>
  program.replace(
    "path: '', bytesMax: Infinity, onFailed() {}",
    `path: ${JSON.stringify(path)}, bytesMax: 100, onFailed: (error) => write('failed ' + error.message + '\\n')`,
  )

async function logTwoLines(path: string, log: FileHandle): Promise<void> {
  const child = Bun.spawn([process.execPath, '--eval', limited(path)], {
    stdin: new Blob(['one\n', 'two\n']),
    stdout: 'ignore',
    stderr: log.fd,
  })
  expect(await child.exited).toBe(0)
  await log.close()
}

test.each(['a', 'w'])('rotates the file of a shell only if it appends, and says so otherwise (%s)', async (flags) => {
  const folder = await mkdtemp(join(dir, 'shell-'))
  const path = join(folder, 'server.log')
  const log = await open(path, flags)
  const earlier = `${'x'.repeat(200)}\n`
  await log.write(earlier)
  await logTwoLines(path, log)
  const isAppended = flags === 'a'
  expect((await readdir(folder)).sort()).toEqual(isAppended ? ['server.log', 'server.log.1'] : ['server.log'])
  const why = `failed ${path} is not open for appending, so its content stays there. Start the server with 2>> ${path}, not with 2>.\n`
  expect(await readFile(path, 'utf8')).toBe(isAppended ? 'one\ntwo\n' : `${earlier}${why}one\ntwo\n`)
})

test('begins a line of its own after a server that could not end its last line', async () => {
  const path = join(await mkdtemp(join(dir, 'cut-')), 'server.log')
  const log = await open(path, 'a')
  await log.write('{"level":')
  await logTwoLines(path, log)
  expect(await readFile(path, 'utf8')).toBe('{"level":\none\ntwo\n')
})
