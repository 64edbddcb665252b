import { afterAll, beforeAll, expect, test } from 'bun:test'
import { existsSync, readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import { type AddressInfo, connect, createServer as createNetServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { proxyUpgrade } from './proxy.ts'
import { runtimeBooting } from './reply.ts'
import { serveTerminals, type Terminals } from './terminals.ts'

let dir: string
let terminals: Terminals
let door: Server
let url: string

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'svc-terminals-'))
  terminals = serveTerminals({
    socketPath: join(dir, 'terminals.sock'),
    identity: { uid: null, processesMax: null },
    cwd: dir,
    env: () => ({ PATH: process.env.PATH ?? '', HOME: dir, PS1: '$ ', GREETING: 'hello' }),
    log: () => {},
  })
  // As the daemon passes them on.
  door = createServer()
  door.on('upgrade', (request, socket, head) => {
    const { socketPath } = terminals
    proxyUpgrade(request, socket, head, { socketPath, path: request.url ?? '', refused: runtimeBooting }, 'a key')
  })
  await new Promise<void>((resolve) => door.listen(0, '127.0.0.1', resolve))
  url = `ws://127.0.0.1:${(door.address() as AddressInfo).port}/svc/terminal`
})
afterAll(async () => {
  terminals.stop()
  door.closeAllConnections()
  door.close()
  await rm(dir, { recursive: true, force: true })
})

/** Their text is more than the buffers of all connections on the way hold. */
const numbers = 3_000_000
const whole = Array.from({ length: numbers }, (_, n) => `${n + 1}\r\n`).join('').length

/** A shell with what it showed so far. */
async function open(query = '', at = url) {
  const socket = new WebSocket(at + query)
  socket.binaryType = 'arraybuffer'
  const shown = { text: '', messages: [] as string[] }
  const decoder = new TextDecoder()
  socket.addEventListener('message', ({ data }: MessageEvent<ArrayBuffer | string>) => {
    if (typeof data === 'string') shown.messages.push(data)
    else shown.text += decoder.decode(data, { stream: true })
  })
  const closed = new Promise<void>((resolve) => socket.addEventListener('close', () => resolve()))
  await new Promise<void>((resolve, reject) => {
    socket.addEventListener('open', () => resolve())
    socket.addEventListener('error', () => reject(new Error('It was refused.')))
  })
  const type = (text: string) => socket.send(new TextEncoder().encode(text))
  const shows = async (what: RegExp) => {
    const deadline = Date.now() + 30_000
    for (;;) {
      const found = what.exec(shown.text)
      if (found !== null) return found
      if (Date.now() > deadline) throw new Error(`It never showed ${what}, only:\n${shown.text}`)
      await Bun.sleep(10)
    }
  }
  return { socket, shown, type, shows, closed }
}

test('opens a shell with a size and an environment, resizes it, and reports its exit code', async () => {
  const { socket, shown, type, shows, closed } = await open('?columns=91&rows=17')
  type('echo "$GREETING from $(pwd) $(stty size)"; test -t 0 && echo "in" a terminal\n')
  await shows(/hello from \S+ 17 91/)
  await shows(/in a terminal/)
  socket.send(JSON.stringify({ type: 'resize', columns: 44, rows: 9 }))
  for (const nonsense of ['{', '[]', 'null', '{"type":"resize","columns":-1,"rows":1e9}']) socket.send(nonsense)
  type('stty size\n')
  await shows(/\b9 44\b/)
  type('exit 3\n')
  await closed
  expect(shown.messages).toEqual(['{"type":"end","reason":"The shell ended with 3.","code":3}'])
})

test('runs one command instead of the shell and reports its exit code', async () => {
  const command = 'echo "$GREETING $0 $#"; test -t 1 && echo "on" a terminal; (exit 4)'
  const { shown, closed } = await open(`?command=${encodeURIComponent(command)}`)
  await closed
  expect(shown.text).toMatch(/^hello \S+ 0\r\non a terminal\r\n$/)
  expect(shown.messages).toEqual(['{"type":"end","reason":"The shell ended with 4.","code":4}'])
  await expect(open(`?command=${'x'.repeat(4_001)}`)).rejects.toThrow('refused')
})

test('shows a slow reader the end of fast output, its exit code, and how much it missed', async () => {
  const written = join(dir, 'written')
  const slow = await stalledUntil(() => existsSync(written), url)
  try {
    const command = `seq 1 ${numbers}; touch ${written}; exit 3`
    const { shown, closed } = await open(`?command=${encodeURIComponent(command)}`, slow.url)
    await closed
    expect(shown.messages).toEqual(['{"type":"end","reason":"The shell ended with 3.","code":3}'])
    const missed = [...shown.text.matchAll(/\r\n\[(\d+) bytes skipped\]\r\n/g)]
    const notes = missed.reduce((sum, [note]) => sum + note.length, 0)
    expect(missed.length).toBeGreaterThan(0)
    expect(shown.text.length - notes + missed.reduce((sum, [, count]) => sum + Number(count), 0)).toBe(whole)
  } finally {
    slow.close()
  }
})

/** Passes on what the terminal sends at first, and the rest once it has written everything. */
async function stalledUntil(isWritten: () => boolean, to: string): Promise<{ url: string; close(): void }> {
  const { port, hostname } = new URL(to)
  const relay = createNetServer((client) => {
    const upstream = connect(Number(port), hostname)
    client.pipe(upstream)
    upstream.on('data', (chunk) => {
      client.write(chunk)
      if (isWritten()) return
      upstream.pause()
      const looking = setInterval(() => {
        if (!isWritten() && !upstream.destroyed) return
        clearInterval(looking)
        upstream.resume()
      }, 20)
    })
    upstream.on('close', () => client.end())
    for (const socket of [client, upstream]) socket.on('error', () => {})
  })
  await new Promise<void>((resolve) => relay.listen(0, '127.0.0.1', resolve))
  const own = String((relay.address() as AddressInfo).port)
  return { url: to.replace(`:${port}/`, `:${own}/`), close: () => void relay.close() }
}

test.each([
  ['ends the programs of a shell when its connection closes', ''],
  ['ends a shell that ignores this, with its jobs', 'trap "" HUP; '],
])('%s', async (_, first) => {
  const { socket, type, shows } = await open()
  type(`${first}sleep 987654 & echo "its id: $!"; wait\n`)
  const pid = Number((await shows(/its id: (\d+)/))[1])
  expect(() => process.kill(pid, 0)).not.toThrow()
  socket.close()
  const deadline = Date.now() + 30_000
  // A zombie has ended, even if the machine's init takes its time to reap it.
  const isThere = () => /^State:\t[^ZX]/m.test(statusOf(pid))
  while (isThere() && Date.now() < deadline) await Bun.sleep(20)
  expect(isThere()).toBe(false)
})

test('refuses a ninth terminal', async () => {
  const opened = await Promise.all(Array.from({ length: 8 }, () => open()))
  const ninth = await open()
  await ninth.closed
  expect(ninth.shown.messages.join()).toContain('8 terminals')
  for (const { socket } of opened) socket.close()
  await Promise.all(opened.map(({ closed }) => closed))
})

function statusOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/status`, 'utf8')
  } catch {
    return ''
  }
}
